mod idle;
mod through_a_volume;

use tandem_format::SegEntry;

use super::*;

const SIZE: u32 = 1 << 20;

fn standing(room: u64) -> Standing {
    let size = u64::from(SIZE);
    Standing {
        size,
        usable: size - (76 << 10),
        thin: Thin::Half,
        room,
        round: 16 << 20,
        here: 0,
        now: 100,
    }
}

fn segments(of: &[(u32, u64)]) -> Vec<(u64, SegEntry)> {
    let entry =
        |&(percent, stamp): &(u32, u64)| SegEntry { live: SIZE / 100 * percent, used: true, stamp };
    of.iter().map(entry).enumerate().map(|(n, e)| (n as u64, e)).collect()
}

#[test]
fn old_ones_go_before_emptier_young_ones() {
    // LFS §3.6: cold segments are cleaned at a higher share of live bytes than hot ones.
    let of = segments(&[(50, 99), (60, 10), (40, 98), (30, 97)]);
    assert_eq!(choose(&of, standing(64 << 20), Need::Soon)[0], 1);
}

#[test]
fn none_when_it_would_take_as_much_as_it_gives() {
    let of = segments(&[(90, 1), (91, 1), (92, 1)]);
    assert_eq!(choose(&of, standing(64 << 20), Need::Now), []);
    // Enough of them give half a segment; so does a little room that is left in the active one.
    let of = segments(&[(90, 1); 20]);
    assert!(choose(&of, standing(64 << 20), Need::Now).len() > 5);
    assert_eq!(choose(&of, standing(1 << 20), Need::Now), []);
}

#[test]
fn the_emptiest_serve_when_the_old_ones_give_too_little() {
    let of = segments(&[(60, 1), (12, 99), (11, 100), (10, 100)]);
    assert_eq!(choose(&of, standing(700 << 10), Need::Now), [3, 2, 1]);
}

#[test]
fn a_round_is_bounded_by_its_need_and_by_the_room() {
    let of = segments(&[(50, 1); 100]);
    let bytes = |n: usize| n as u64 * u64::from(SIZE / 2);
    assert!(bytes(choose(&of, standing(64 << 20), Need::Now).len()) <= PIECE);
    assert!(bytes(choose(&of, standing(64 << 20), Need::Soon).len()) <= 16 << 20);
    assert!(bytes(choose(&of, standing(2 << 20), Need::Soon).len()) <= 2 << 20);
}

#[test]
fn idle_rounds_take_only_what_gives_as_much() {
    let of = segments(&[(60, 1), (70, 1), (55, 1)]);
    assert_eq!(choose(&of, standing(64 << 20), Need::Idle), []);
    let of = segments(&[(60, 1), (20, 1), (30, 1)]);
    assert_eq!(choose(&of, standing(64 << 20), Need::Idle), [1, 2]);
    let most = Standing { thin: Thin::ThreeQuarters, ..standing(64 << 20) };
    assert_eq!(choose(&of, most, Need::Idle), [1, 2, 0]);
}

use proptest::prelude::*;

use super::*;

const SPARING: [Sparing; 11] = [
    Sparing::None,
    Sparing::Tracks,
    Sparing::CylinderEnd,
    Sparing::TrackEnd,
    Sparing::CylinderEndSlipOn,
    Sparing::CylinderFront,
    Sparing::CylinderFrontSlipOn,
    Sparing::DiskEnd,
    Sparing::Range,
    Sparing::Zone,
    Sparing::ZoneSlipOn,
];

fn layout(sparing: Sparing, mapping: Mapping, spt: u32, slips: Vec<u64>) -> Layout {
    let zone = |first, last, spt, slips| ZoneLayout {
        first_cylinder: first,
        last_cylinder: last,
        sectors_per_track: spt,
        track_skew: 2.0,
        cylinder_skew: 3.0,
        spares: 2,
        slips,
        ..ZoneLayout::default()
    };
    Layout {
        surfaces: 3,
        cylinders: 14,
        mapping,
        sparing,
        range: 2,
        zones: vec![zone(0, 5, spt, slips), zone(8, 13, spt - 2, Vec::new())],
        nested: None,
    }
}

/// Slips that leave every unit of every scheme its spares: a track has two.
fn slips() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::btree_set(0u64..6, 0..2).prop_map(|set| set.into_iter().collect())
}

proptest! {
    /// Sectors lie in order, no two in one place, none on a slipped slot, tracks ending where said.
    #[test]
    fn places_are_apart(
        at in 0usize..11,
        mapping in prop_oneof![
            Just(Mapping::Cylinder), Just(Mapping::SerpentineZone), Just(Mapping::SerpentineDisk)
        ],
        spt in 8u32..20,
        slips in slips(),
    ) {
        let geometry = Geometry::new(&layout(SPARING[at], mapping, spt, slips.clone())).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let mut last = None;
        for sector in 0..geometry.sectors() {
            let place = geometry.locate(sector);
            prop_assert!(place.cylinder <= 5 || (8..=13).contains(&place.cylinder));
            prop_assert!(place.slot < place.slots && place.head < 3);
            prop_assert!(seen.insert((place.cylinder, place.head, place.slot)), "{sector} shares");
            if SPARING[at] != Sparing::Tracks && place.zone == 0 {
                prop_assert!(!slips.contains(&place.zone_slot), "{sector} on a slipped slot");
            }
            prop_assert!(last < Some((place.zone, place.zone_slot)));
            last = Some((place.zone, place.zone_slot));
            let end = geometry.locate(sector + place.run - 1);
            prop_assert_eq!((end.cylinder, end.head), (place.cylinder, place.head));
            prop_assert_eq!(geometry.slots_of(&place, place.run), u64::from(end.slot - place.slot) + 1);
            if sector + place.run < geometry.sectors() {
                let next = geometry.locate(sector + place.run);
                prop_assert_ne!((next.cylinder, next.head), (place.cylinder, place.head));
            }
            prop_assert_eq!(geometry.sector_at(&place, place.slot), sector);
        }
    }
}

#[test]
fn capacity_leaves_spares_out() {
    let of = |sparing| {
        Geometry::new(&layout(sparing, Mapping::Cylinder, 10, vec![4])).unwrap().sectors()
    };
    let slots = 6 * 3 * (10 + 8);
    assert_eq!(of(Sparing::Zone), slots - 4);
    assert_eq!(of(Sparing::ZoneSlipOn), slots - 4 - 1);
    assert_eq!(of(Sparing::CylinderEnd), slots - 2 * 12);
    assert_eq!(of(Sparing::TrackEnd), slots - 2 * 36);
    assert_eq!(of(Sparing::Range), slots - 2 * 6);
    assert_eq!(of(Sparing::Tracks), slots - 2 * (10 + 8));
    assert_eq!(of(Sparing::DiskEnd), slots - 1);
}

#[test]
fn skews_turn_tracks() {
    let geometry = Geometry::new(&layout(Sparing::None, Mapping::Cylinder, 10, vec![])).unwrap();
    assert_eq!(geometry.locate(0).angle, 0.0);
    assert_eq!(geometry.locate(10).angle, 2.0);
    assert_eq!(geometry.locate(25).angle, 9.0);
    // Two track skews and one of a cylinder: 7.
    assert_eq!(geometry.locate(30).angle, 7.0);
}

#[test]
fn remapped_sectors_are_elsewhere() {
    let mut layout = layout(Sparing::Zone, Mapping::Cylinder, 10, vec![]);
    layout.zones[0].defects = vec![(13, 179)];
    let geometry = Geometry::new(&layout).unwrap();
    assert_eq!((geometry.locate(12).run, geometry.locate(13).run), (1, 1));
    assert_eq!((geometry.locate(13).cylinder, geometry.locate(13).head), (5, 2));
    assert_eq!((geometry.locate(14).head, geometry.locate(14).run), (1, 6));
}

#[test]
fn impossible_layouts_are_refused() {
    let good = layout(Sparing::Zone, Mapping::Cylinder, 10, vec![]);
    let wrong = |change: &dyn Fn(&mut Layout)| {
        let mut layout = good.clone();
        change(&mut layout);
        Geometry::new(&layout).unwrap_err().to_string()
    };
    assert!(wrong(&|l| l.surfaces = 0).contains("surfaces"));
    assert!(wrong(&|l| l.zones.clear()).contains("zones"));
    assert!(wrong(&|l| l.zones[1].first_cylinder = 5).contains("zone 1"));
    assert!(wrong(&|l| l.zones[0].sectors_per_track = 0).contains("zone 0"));
    assert!(wrong(&|l| l.zones[0].spares = 180).contains("spares"));
    assert!(wrong(&|l| l.zones[0].slips = vec![180]).contains("slips"));
    assert!(wrong(&|l| l.zones[0].track_skew = f64::NAN).contains("skew"));
}

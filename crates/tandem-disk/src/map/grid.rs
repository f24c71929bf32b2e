//! A picture's cells, and what falls into them.

/// A range of values in so many cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// The first value.
    pub from: u64,
    /// The value behind the last.
    pub to: u64,
    /// Cells, of equal width.
    pub cells: usize,
}

impl Axis {
    /// From `from` to before `to`, at least one value and one cell.
    pub fn new(from: u64, to: u64, cells: usize) -> Axis {
        let from = from.min(u64::MAX - 1);
        Axis { from, to: to.max(from + 1), cells: cells.max(1) }
    }

    /// The cell of a value; what lies outside belongs to the cell at that end.
    pub fn cell(&self, value: u64) -> usize {
        let within = u128::from(value.clamp(self.from, self.to - 1) - self.from);
        (within * self.cells as u128 / u128::from(self.to - self.from)) as usize
    }

    /// The first of the cells that values from `from` to before `to` touch, and the one behind the
    /// last; an empty range is taken for the one value where it begins.
    fn touched(&self, from: u64, to: u64) -> (usize, usize) {
        let to = to.max(from.saturating_add(1)).clamp(self.from, self.to) - self.from;
        let (cells, span) = (self.cells as u128, u128::from(self.to - self.from));
        let behind = (u128::from(to) * cells).div_ceil(span) as usize;
        let first = self.cell(from);
        (first, behind.max(first + 1))
    }

    /// Where a cell begins; `cells` gives the end of the last.
    pub fn value(&self, cell: usize) -> f64 {
        self.from as f64 + (self.to - self.from) as f64 * cell as f64 / self.cells as f64
    }
}

/// How often each cell was marked.
///
/// A rectangle is four numbers whatever its size: what is kept are the differences between
/// neighbouring cells, which [`Grid::counts`] adds up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    steps: Vec<i64>,
}

impl Grid {
    /// Nothing marked.
    pub fn new(x: Axis, y: Axis) -> Grid {
        Grid { x, y, steps: vec![0; (x.cells + 1) * (y.cells + 1)] }
    }

    /// Marks the cells from the first to before the second value of each pair; of an empty range
    /// the cell where it begins.
    pub fn mark(&mut self, across: (u64, u64), up: (u64, u64)) {
        let (left, right) = self.x.touched(across.0, across.1);
        let (low, high) = self.y.touched(up.0, up.1);
        let width = self.x.cells + 1;
        self.steps[low * width + left] += 1;
        self.steps[low * width + right] -= 1;
        self.steps[high * width + left] -= 1;
        self.steps[high * width + right] += 1;
    }

    /// How often each cell was marked, in rows from the lowest upwards.
    pub fn counts(&self) -> Vec<Vec<u64>> {
        let mut below = vec![0i64; self.x.cells];
        let rows = self.steps.chunks(self.x.cells + 1).take(self.y.cells);
        rows.map(|steps| {
            let mut sum = 0;
            for (cell, step) in below.iter_mut().zip(steps) {
                sum += step;
                *cell += sum;
            }
            below.iter().map(|&count| count.max(0) as u64).collect()
        })
        .collect()
    }

    /// The same in fewer cells, each with the largest of those that it stands for.
    pub fn coarse(&self, columns: usize, rows: usize) -> Vec<Vec<u64>> {
        let (columns, rows) = (columns.clamp(1, self.x.cells), rows.clamp(1, self.y.cells));
        let mut out = vec![vec![0; columns]; rows];
        for (row, counts) in self.counts().into_iter().enumerate() {
            for (column, count) in counts.into_iter().enumerate() {
                let cell = &mut out[row * rows / self.y.cells][column * columns / self.x.cells];
                *cell = count.max(*cell);
            }
        }
        out
    }
}

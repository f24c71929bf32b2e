//! Sums of squares of factors and interactions, for equal and unequal replications.

use super::Design;

/// The sum of squares of the hypothesis that a term has no effect: for the orthonormal contrasts C of
/// the cells' means m, (C m)' (C D C')^-1 (C m), where D has 1/n of each cell. With equal n this is
/// n |C m|^2, Jain's sum.
pub(super) fn of_term(design: &Design, means: &[f64], term: usize) -> f64 {
    let contrasts = contrasts(design, term);
    let values: Vec<f64> = contrasts.iter().map(|row| dot(row, means)).collect();
    let sizes: Vec<f64> = design.cells().iter().map(|cell| cell.len() as f64).collect();
    if sizes.iter().all(|size| *size == sizes[0]) {
        return sizes[0] * dot(&values, &values);
    }
    weighted(&contrasts, &values, &sizes)
}

fn weighted(contrasts: &[Vec<f64>], values: &[f64], sizes: &[f64]) -> f64 {
    let scaled: Vec<Vec<f64>> =
        contrasts.iter().map(|row| row.iter().zip(sizes).map(|(c, n)| c / n).collect()).collect();
    let matrix: Vec<Vec<f64>> =
        scaled.iter().map(|row| contrasts.iter().map(|other| dot(row, other)).collect()).collect();
    quadratic(matrix, values)
}

/// v' A^-1 v of a positive definite A: the squared length of the solution of L x = v, A = L L'.
fn quadratic(mut matrix: Vec<Vec<f64>>, values: &[f64]) -> f64 {
    let mut solution: Vec<f64> = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        for column in 0..=row {
            let before = dot(&matrix[row][..column], &matrix[column][..column]);
            let rest = matrix[row][column] - before;
            matrix[row][column] =
                if row == column { rest.sqrt() } else { rest / matrix[column][column] };
        }
        let before = dot(&matrix[row][..row], &solution);
        solution.push((values[row] - before) / matrix[row][row]);
    }
    dot(&solution, &solution)
}

/// Orthonormal contrasts of a term: Helmert's for its own factors, the mean for the others.
fn contrasts(design: &Design, term: usize) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![1.0]];
    for (at, factor) in design.factors().iter().enumerate() {
        let own = one_factor(factor.levels.len(), term & (1 << at) != 0);
        let product = |row: &Vec<f64>, other: &Vec<f64>| -> Vec<f64> {
            row.iter().flat_map(|a| other.iter().map(move |b| a * b)).collect()
        };
        rows =
            rows.iter().flat_map(|row| own.iter().map(move |other| product(row, other))).collect();
    }
    rows
}

fn one_factor(levels: usize, varied: bool) -> Vec<Vec<f64>> {
    if !varied {
        return vec![vec![1.0 / (levels as f64).sqrt(); levels]];
    }
    let row = |which: usize| {
        let norm = ((which * (which + 1)) as f64).sqrt();
        let value = |at: usize| match at.cmp(&which) {
            std::cmp::Ordering::Less => 1.0 / norm,
            std::cmp::Ordering::Equal => -(which as f64) / norm,
            std::cmp::Ordering::Greater => 0.0,
        };
        (0..levels).map(value).collect()
    };
    (1..levels).map(row).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::factorial::Factor;

    /// With equal replications the general formula gives the short one's sums.
    #[test]
    fn weighted_sums_are_jains_when_balanced() {
        let factor = |name: &str, n: usize| Factor {
            name: name.into(),
            levels: (0..n).map(|level| level.to_string()).collect(),
        };
        let factors = vec![factor("a", 2), factor("b", 3), factor("c", 4)];
        let mut random = fastrand::Rng::with_seed(7);
        let mut observations = Vec::new();
        for cell in 0..24 {
            for _ in 0..3 {
                observations.push((vec![cell / 12, cell / 4 % 3, cell % 4], random.f64()));
            }
        }
        let design = Design::new(factors, observations).unwrap();
        let means: Vec<f64> = design.cells().iter().map(|c| c.iter().sum::<f64>() / 3.0).collect();
        for term in 1..8 {
            let contrasts = contrasts(&design, term);
            let values: Vec<f64> = contrasts.iter().map(|row| dot(row, &means)).collect();
            let general = weighted(&contrasts, &values, &[3.0; 24]);
            assert!((general - of_term(&design, &means, term)).abs() < 1e-12);
        }
    }
}

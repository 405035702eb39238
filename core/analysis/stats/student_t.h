#pragma once

namespace tilescope::analysis {

/// The two-sided p-value of t in Student's distribution.
/// \param dof  degrees of freedom, > 0
double studentTwoSided(double t, double dof);

/// The critical value of a two-sided test at level `alpha`: 2.228 for 0.05 and 10 degrees of freedom.
/// \param alpha  in (0, 1)
double studentCritical(double alpha, double dof);

} // namespace tilescope::analysis

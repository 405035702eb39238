#pragma once

namespace tilescope::analysis {

/// Probability that a variable of Student's distribution is at least |t| away from 0, on either side.
/// \param dof  degrees of freedom, > 0
double studentTwoSided(double t, double dof);

/// The t that is exceeded on either side with probability `alpha` in all: 2.228 for 0.05 and 10 degrees of
/// freedom.
/// \param alpha  in (0, 1)
double studentCritical(double alpha, double dof);

} // namespace tilescope::analysis

#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/model/kernel_samples.h"

namespace tilescope::exchange {

/// The samples of all processes of a trace as those of one run, with source lines, and with the instructions' texts if
/// nvdisasm is found. Of the machine code at most 16 MiB are kept, that of the most sampled modules first; of source files
/// the digest and, if that was asked for, the text.
/// \param trace  with its processes and devices numbered; its samples are moved from
KernelSamples assembleKernelSamples(ForeignTrace& trace);

} // namespace tilescope::exchange

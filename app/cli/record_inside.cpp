#include "app/cli/record_inside.h"

#include "app/cli/arguments.h"
#include "app/cli/recorded_program.h"
#include "core/base/error.h"

namespace tilescope::cli {

void InsideOptions::addTo(Arguments& arguments)
{
    arguments.attached(
        "--inside", "KERNELS", isOn, kernels,
        "sample what the warps of the GPU wait for, by line and instruction, for `tilescope show "
        "FILE inside`; =KERNELS: only of kernels whose name matches, such as =flash*");
    arguments.flag("--no-cubins", noCubins,
                   "with --inside: do not keep the machine code of sampled kernels (16 MiB at most)");
    arguments.flag("--sources", sources,
                   "with --inside: keep the text of the files that sampled kernels were compiled from");
}

void InsideOptions::prepare(RecordedProgram& program, bool yields) const
{
    if (!isOn && (noCubins || sources))
        throw Error{.what = "is about sampled kernels",
                    .where = noCubins ? "--no-cubins" : "--sources",
                    .remedy = "add --inside"};
    if (!isOn)
        return;
    if (yields)
        throw Error{.what =
                        "--inside keeps CUPTI for itself, so that it cannot leave the GPU to torch.profiler",
                    .where = "tilescope record",
                    .remedy = "give --inside or --yield-to-torch"};
    program.setOption("inside", kernels);
    if (noCubins)
        program.setOption("no_cubins", "1");
    if (sources)
        program.setOption("sources", "1");
}

bool parseRecordArguments(Arguments& arguments, int argc, char** argv)
{
    try {
        return arguments.parse(argc, argv);
    } catch (const Error& error) {
        if (error.where != "--counters")
            throw;
        throw Error{.what = "hardware counters replay each step, which a recorded program does not do",
                    .where = error.where,
                    .remedy = "give --metrics or --inside, or the key counters to a run of Tilescope's own"};
    }
}

} // namespace tilescope::cli

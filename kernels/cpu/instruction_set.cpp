// The CPU kernels for one instruction set: CMake compiles this file once for each, naming the set in
// TILESCOPE_ISA (the namespace) and TILESCOPE_ISA_TABLE (the table).
#include "kernels/cpu/instruction_set.h"

#include "kernels/cpu/backward.h"
#include "kernels/cpu/forward.h"

namespace tilescope::kernels {
namespace TILESCOPE_ISA {
namespace {

template <class T> struct Kernels {
    static std::size_t workspace(const AttentionShape& shape, std::int64_t parts)
    {
        return BackwardWorkspace<typename AccumulatorOf<T>::type>::bytes(shape, parts);
    }
    static void forward(const AttentionProblem& problem, const ForwardTensors& tensors, std::byte* scratch,
                        std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
    {
        ForwardTile<T>(problem, tensors, scratch).run(batch, head, firstQuery);
    }
    static void backward(const AttentionProblem& problem, const BackwardTensors& tensors, std::byte* scratch,
                         std::int64_t batch, std::int64_t keyHead, std::int64_t part, std::int64_t parts)
    {
        BackwardPart<T>(problem, tensors, scratch).run(batch, keyHead, part, parts);
    }
    static constexpr CpuTileKernels table{
        .forwardScratch = &ForwardTile<T>::scratchBytes,
        .backwardScratch = &BackwardPart<T>::scratchBytes,
        .workspace = &workspace,
        .forward = &forward,
        .delta = &deltaTile<T>,
        .backward = &backward,
        .gradQ = &gradQTile<T>,
    };
};

} // namespace
} // namespace TILESCOPE_ISA

const CpuInstructionSet TILESCOPE_ISA_TABLE{
    .queryTile = TILESCOPE_ISA::kQueryTile,
    .keyTile = TILESCOPE_ISA::kKeyTile,
    .kernels = {TILESCOPE_ISA::Kernels<float>::table, TILESCOPE_ISA::Kernels<double>::table,
                TILESCOPE_ISA::Kernels<TILESCOPE_ISA::Half>::table,
                TILESCOPE_ISA::Kernels<TILESCOPE_ISA::BFloat16>::table},
};

} // namespace tilescope::kernels

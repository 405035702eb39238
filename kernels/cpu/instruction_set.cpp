// The CPU kernels for one instruction set. CMake compiles this file once for each, with TILESCOPE_ISA (the
// namespace) and TILESCOPE_ISA_TABLE (the table).
//
// Sets that multiply bf16 pairs have kernels only for the types that these make faster. Others use those of
// AVX-512.
#include "kernels/cpu/instruction_set.h"

#if defined(__AVX512BF16__)
#include "kernels/cpu/packed_backward.h"
#include "kernels/cpu/packed_forward.h"
#else
#include "kernels/cpu/backward.h"
#include "kernels/cpu/forward.h"
#endif

namespace tilescope::kernels {
namespace TILESCOPE_ISA {
namespace {

#if defined(__AVX512BF16__)

template <class T> struct Kernels {
    static void forward(const AttentionProblem& problem, const ForwardTensors& tensors, std::byte* scratch,
                        std::int64_t batch, std::int64_t head, std::int64_t firstQuery)
    {
        PackedForward<T>(problem, tensors, scratch).run(batch, head, firstQuery);
    }
    static void backward(const AttentionProblem& problem, const BackwardTensors& tensors, std::byte* scratch,
                         std::int64_t batch, std::int64_t keyHead, std::int64_t part, std::int64_t parts)
    {
        PackedBackward<T>(problem, tensors, scratch).run(batch, keyHead, part, parts);
    }
    static constexpr CpuTileKernels table{
        .queryTile = kPackedQueryTile,
        .keyTile = kPackedKeyTile,
        .forwardScratch = &PackedForward<T>::scratchBytes,
        .backwardScratch = &PackedBackward<T>::scratchBytes,
        .forwardWorkspace = &PackedKeys<T>::bytes,
        .backwardWorkspace = &PackedGradQ::bytes,
        .pack = &PackedForward<T>::pack,
        .forward = &forward,
        .delta = nullptr,
        .backward = &backward,
        .gradQ = &packedGradQTile<T>,
    };
};

#else

template <class T> struct Kernels {
    static std::size_t noWorkspace(const AttentionShape&) { return 0; }
    static std::size_t backwardWorkspace(const AttentionShape& shape, std::int64_t parts)
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
        .queryTile = kQueryTile,
        .keyTile = kKeyTile,
        .forwardScratch = &ForwardTile<T>::scratchBytes,
        .backwardScratch = &BackwardPart<T>::scratchBytes,
        .forwardWorkspace = &noWorkspace,
        .backwardWorkspace = &backwardWorkspace,
        .pack = nullptr,
        .forward = &forward,
        .delta = &deltaTile<T>,
        .backward = &backward,
        .gradQ = &gradQTile<T>,
    };
};

#endif

} // namespace
} // namespace TILESCOPE_ISA

using namespace TILESCOPE_ISA;

#define TILESCOPE_NAME_OF(set) #set
#define TILESCOPE_NAME(set) TILESCOPE_NAME_OF(set)

const CpuInstructionSet TILESCOPE_ISA_TABLE
{
    .name = TILESCOPE_NAME(TILESCOPE_ISA),
#if defined(TILESCOPE_AMX_FP16)
    .kernels = {nullptr, nullptr, &Kernels<Half>::table, nullptr},
#elif defined(__AMX_BF16__)
    .kernels = {&Kernels<float>::table, nullptr, &Kernels<Half>::table, &Kernels<BFloat16>::table},
#elif defined(__AVX512BF16__)
    // fp16 and fp32 as sums of bf16 numbers take three and six products, and vdpbf16ps is at most twice as
        // fast as an fp32 multiply-add.
        .kernels = {nullptr, nullptr, nullptr, &Kernels<BFloat16>::table},
#else
    .kernels = {&Kernels<float>::table, &Kernels<double>::table, &Kernels<Half>::table,
                &Kernels<BFloat16>::table},
#endif
};

} // namespace tilescope::kernels

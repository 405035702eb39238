// The kernels of attention forward, backward and of decode, of one source tree, as a shared library that tests/bench/attention/points
// loads beside those of other trees. bf16, head dims 64 and 128, dense tensors (batch, heads, rows, head dim).
#include "kernels/cuda/decode/decode.h"
#include "kernels/cuda/hopper/backward/backward.h"
#include "kernels/cuda/hopper/forward/forward.h"
#if __has_include("kernels/cuda/hopper/decode/decode.h")
#include "kernels/cuda/hopper/decode/decode.h"
#endif

#include <cmath>

using namespace tilescope::kernels;

namespace tilescope::kernels::hopper {

cudaError_t launchWide(const AttentionProblem&, const BackwardTensors&, cudaStream_t)
{
    return cudaErrorNotSupported;
}

} // namespace tilescope::kernels::hopper

namespace {

AttentionProblem problemOf(const std::int64_t (&sizes)[6], bool causal, bool deterministic)
{
    AttentionProblem problem;
    problem.shape = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], static_cast<int>(sizes[5])};
    problem.type = ElementType::BFloat16;
    problem.scale = 1 / std::sqrt(static_cast<double>(sizes[5]));
    problem.causal = causal;
    problem.deterministic = deterministic;
    return problem;
}

template <class View>
View dense(decltype(View::data) data, std::int64_t heads, std::int64_t rows, std::int64_t columns)
{
    return {data, heads * rows * columns, rows * columns, columns};
}

} // namespace

#define TILESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef TILESCOPE_POINTS_BACKWARD
/// \param sizes  batch, query heads, key heads, queries, keys, head dim
TILESCOPE_EXPORT std::size_t backwardBytes(const std::int64_t (&sizes)[6], int causal, int deterministic)
{
    return hopper::backwardWorkspaceBytes(problemOf(sizes, causal, deterministic));
}

/// \param tensors  q, k, v, o, gradO, log-sum-exp, gradQ, gradK, gradV, workspace
TILESCOPE_EXPORT int backward(const std::int64_t (&sizes)[6], int causal, int deterministic,
                              void* const (&tensors)[10], void* stream)
{
    const AttentionProblem problem = problemOf(sizes, causal, deterministic);
    const AttentionShape& shape = problem.shape;
    const auto queries = [&]<class View>(View, void* data) {
        return dense<View>(data, shape.queryHeads, shape.queries, shape.headDim);
    };
    const auto keys = [&]<class View>(View, void* data) {
        return dense<View>(data, shape.keyHeads, shape.keys, shape.headDim);
    };
    BackwardTensors all;
    all.q = queries(ConstView{}, tensors[0]);
    all.k = keys(ConstView{}, tensors[1]);
    all.v = keys(ConstView{}, tensors[2]);
    all.o = queries(ConstView{}, tensors[3]);
    all.gradO = queries(ConstView{}, tensors[4]);
    all.logSumExp = tensors[5];
    all.gradQ = queries(MutableView{}, tensors[6]);
    all.gradK = keys(MutableView{}, tensors[7]);
    all.gradV = keys(MutableView{}, tensors[8]);
    all.workspace = tensors[9];
    return hopper::backward(problem, all, static_cast<cudaStream_t>(stream));
}

#endif
#ifdef TILESCOPE_POINTS_FORWARD
/// \param tensors  q, k, v, o, log-sum-exp
TILESCOPE_EXPORT int forward(const std::int64_t (&sizes)[6], int causal, void* const (&tensors)[5],
                             void* stream)
{
    const AttentionProblem problem = problemOf(sizes, causal, false);
    const AttentionShape& shape = problem.shape;
    ForwardTensors all;
    all.q = dense<ConstView>(tensors[0], shape.queryHeads, shape.queries, shape.headDim);
    all.k = dense<ConstView>(tensors[1], shape.keyHeads, shape.keys, shape.headDim);
    all.v = dense<ConstView>(tensors[2], shape.keyHeads, shape.keys, shape.headDim);
    all.o = dense<MutableView>(tensors[3], shape.queryHeads, shape.queries, shape.headDim);
    all.logSumExp = tensors[4];
    return hopper::forward(problem, all, static_cast<cudaStream_t>(stream));
}
#endif
#ifdef TILESCOPE_POINTS_DECODE
TILESCOPE_EXPORT std::size_t decodeBytes(const std::int64_t (&sizes)[6])
{
    return decodeWorkspaceBytes(problemOf(sizes, false, false));
}

/// \param tensors  q, k, v, o, log-sum-exp, workspace
TILESCOPE_EXPORT int decodeOnce(const std::int64_t (&sizes)[6], void* const (&tensors)[6], void* stream)
{
    const AttentionProblem problem = problemOf(sizes, false, false);
    const AttentionShape& shape = problem.shape;
    ForwardTensors all;
    all.q = dense<ConstView>(tensors[0], shape.queryHeads, shape.queries, shape.headDim);
    all.k = dense<ConstView>(tensors[1], shape.keyHeads, shape.keys, shape.headDim);
    all.v = dense<ConstView>(tensors[2], shape.keyHeads, shape.keys, shape.headDim);
    all.o = dense<MutableView>(tensors[3], shape.queryHeads, shape.queries, shape.headDim);
    all.logSumExp = tensors[4];
    all.workspace = tensors[5];
#if __has_include("kernels/cuda/hopper/decode/decode.h") // not in older trees
    return decode(problem, all, static_cast<cudaStream_t>(stream), {}, &hopper::decodeByBoxes);
#else
    return decode(problem, all, static_cast<cudaStream_t>(stream), {});
#endif
}
#endif

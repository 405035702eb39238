#include "core/predict/fused_kernels.h"
#include "core/predict/sdpa_kernels.h"

namespace tilescope::predict {

namespace {

// PyTorch's reference implementation: q and k are each scaled by the root of the factor, the mask is added as
// numbers, and softmax checks for fully masked rows. Half precision is computed in fp32.
class MathKernel final : public SdpaKernel {
public:
    Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                 const Tensor& v) const override
    {
        const TypedAttention& shape = call.shape;
        // Autocast converts the arguments of scaled_dot_product_attention; inside, it is off.
        const Ops::Autocast off(ops, {});
        const std::int64_t pairs = shape.queries * shape.keys;
        const Storage numbers = call.hasMask ? ops.maskOfNumbers(pairs, shape.type) : Storage();
        const Tensor wideQ = ops.to(q, Type::Float32, "q, widened");
        const Tensor wideK = ops.to(k, Type::Float32, "k, widened");
        const Tensor wideV = ops.to(v, Type::Float32, "v, widened");
        Tensor o;
        {
            const Tensor scaledQ = scaled(ops, wideQ);
            const Storage mask = causalNumbers(call, ops);
            const Tensor keys = expanded(ops, shape, wideK);
            const Tensor values = expanded(ops, shape, wideV);
            Tensor weights;
            {
                const Tensor scores =
                    ops.bmm(scaledQ, scaled(ops, keys), shape.scoreCount(),
                            {.batch = shape.batch * shape.heads, .isSecondTransposed = true});
                if (numbers && shape.type != Type::Float32)
                    ops.temporary(pairs * kFloat, "mask, widened");
                weights = ops.softmax(scores, shape.rows());
                lookForHiddenRows(ops, shape);
            }
            o = ops.bmm(weights, values, shape.queryCount(), {.batch = shape.batch * shape.heads});
            // The weights are also returned, in the type of the inputs, although the caller ignores them.
            const Storage narrow =
                shape.type != Type::Float32
                    ? ops.temporary(shape.scoreCount() * bytesOf(shape.type), "weights, narrowed")
                    : Storage();
            return ops.to(o, shape.type, "output, narrowed");
        }
    }

private:
    static Tensor scaled(Ops& ops, const Tensor& x)
    {
        Tensor y = ops.timesNumber(x, "scaled");
        ops.moves(2 * x.bytes());
        ops.record(y, {&x}, {}, [&ops](const Tensors& g) -> Tensors {
            Tensor result = ops.timesNumber(g[0], "gradient, scaled");
            result.isTransposed = g[0].isTransposed;
            return {result};
        });
        return y;
    }

    static Tensor expanded(Ops& ops, const TypedAttention& shape, const Tensor& x)
    {
        if (shape.heads == shape.kvHeads)
            return x;
        Tensor y = ops.make(x.count / shape.kvHeads * shape.heads, x.type, "for each query head");
        ops.record(y, {&x}, {}, [&ops, count = x.count](const Tensors& g) -> Tensors {
            return {ops.make(count, g[0].type, "gradient of shared heads")};
        });
        return y;
    }

    static Storage causalNumbers(const SdpaCall& call, Ops& ops)
    {
        if (call.hasMask || !call.shape.causal)
            return {};
        const std::int64_t pairs = call.shape.queries * call.shape.keys;
        Storage truth;
        {
            const Storage ones = ops.temporary(pairs, "ones");
            truth = ops.temporary(pairs, "causal mask");
        }
        return ops.maskOfNumbers(pairs, Type::Float32);
    }

    static void lookForHiddenRows(Ops& ops, const TypedAttention& shape)
    {
        ops.moves(shape.scoreCount() * 5);  // comparison
        ops.moves(shape.scoreCount());      // sum per row
        ops.moves(shape.scoreCount() * 12); // addition of the mask
        const Storage infinite = ops.temporary(shape.scoreCount(), "scores that are hidden");
        const Storage hidden = ops.temporary(shape.rows(), "rows that are hidden");
        ops.number(sizeof(float));
    }
};

const MathKernel kMath;

} // namespace

const SdpaKernel& sdpaMath()
{
    return kMath;
}

} // namespace tilescope::predict

#include "core/predict/attention.h"

namespace tilescope::predict {

namespace {

// Scores and weights, each queries x keys per head.
class NaiveAttention final : public AttentionMemory {
public:
    NaiveAttention(const TypedAttention& shape, Ops& ops) : shape_(shape), ops_(ops)
    {
        hold(bytesOf(shape.type), "operand that is never read");
        if (!shape.causal)
            return;
        hold(shape.queries * shape.keys, "mask");
        if (shape.blankRows() > 0)
            hold(shape.queries, "queries that see no key");
    }

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override
    {
        Tensor weights;
        {
            const Tensor scores = ops_.bmm(q, k, shape_.scoreCount(),
                                           {.batch = shape_.batch * shape_.kvHeads,
                                            .isScaled = shape_.scale != 1,
                                            .isSecondTransposed = true});
            if (shape_.causal)
                ops_.passes(scores, 2);
            weights = ops_.softmax(scores, shape_.rows());
        }
        const Tensor o = ops_.bmm(weights, v, shape_.queryCount(), {.batch = shape_.batch * shape_.kvHeads});
        return shape_.blankRows() > 0 ? ops_.maskedFill(o) : o;
    }

private:
    void hold(std::int64_t bytes, const char* what)
    {
        tables_.push_back(ops_.memory().make(bytes, MemoryCategory::Inputs, what));
    }

    TypedAttention shape_;
    Ops& ops_;
    std::vector<Storage> tables_;
};

} // namespace

std::unique_ptr<AttentionMemory> makeNaiveAttention(const TypedAttention& shape, Ops& ops)
{
    return std::make_unique<NaiveAttention>(shape, ops);
}

} // namespace tilescope::predict

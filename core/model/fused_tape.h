#pragma once

#include "core/model/language_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilescope {

/// A tensor of the fused model with its gradient.
/// \tparam Data   a handle of the values; a default-constructed one has none
/// \tparam Extra  what a weight has in addition; its member `quantized` can be reset()
template <class Data, class Extra> struct FusedTensor : Extra {
    using DataType = Data;

    Data data = {};
    Data grad = {}; ///< set in backward
    // Of the residual stream: a product that the next norm adds to `data`; a function that computes this
    // product, if deferred; and `grad` rounded for the products of backward.
    Data addend = {};
    std::function<Data()> addendLater = {};
    Data gradRounded = {};
    /// Of q, k and v: the packed projection that they are views of. It holds their gradients.
    std::shared_ptr<FusedTensor> packed = {};
    /// Of the head's weight: whether its product is computed with the loss, in chunks of tokens.
    bool isByChunks = false;
    /// `data` is not kept for backward: the backward of the op that made it recomputes it and calls whenRecomputed once.
    bool isRecomputed = false;
    std::function<void(const Data&)> whenRecomputed = {};
    /// Computes `data`, which is deferred because nothing may need it in a recomputed block.
    std::function<Data()> later = {};
    /// Recomputes a product. For a sum in the residual stream: the product that was added to `base`. `data` is then
    /// dropped, and the backward of the norm repeats the addition.
    std::function<Data()> again = {};
    std::shared_ptr<FusedTensor> base = {};
};

/// The results of a norm: its output, the residual stream with the addend (if there was one), and the reciprocal
/// root mean square of each row.
template <class Data> struct FusedNorm {
    Data output = {};
    Data sum = {};
    Data rows = {};
};

/// The gradients of a norm: of its input, the same rounded for products, and parts of its weight's gradient.
template <class Data> struct FusedNormGradients {
    Data input = {};
    Data rounded = {};
    Data parts = {};
};

template <class Data> struct FusedAttention {
    Data output = {};
    Data statistics = {};
};

/// The operations of the language model with compile: fused, without autograd: each operation records its backward
/// as a note, and backward() runs the notes in reverse. core/engine runs it; core/predict counts its memory and
/// work. One thread.
///
/// An addition to the residual stream and the following norm are one kernel. Gradients of weights are computed on
/// the side.
///
/// Recomputed blocks (checkpointing: block:K) keep the output of their attention in addition to the input of the
/// segment. Backward does not repeat the forward of attention or the last product of a segment. Other blocks drop the
/// outputs of their norms and the residual stream after attention; backward repeats one product to restore the latter.
///
/// \tparam Self   derives from this class and has the kernels: embed, embeddingGradient, addRmsNorm,
///                rmsNormBackward, gradientOfNorm, sumParts, weightProduct, inputGradient, gradientLike,
///                gradientOfHeads, updatesWithGradient, updateWithGradient, computeWeightGradient, rotate, heads,
///                attentionForward, attentionBackward, swiGluForward, swiGluBackward; isMade, keepForBackward, storeIn8Bits,
///                parallel, handOver; and NoteRanges
/// \tparam Value  a FusedTensor
/// \tparam Side   runs work beside the current stream, with the signature of SideStream
template <class Self, class Value, class Side> class FusedTape {
public:
    using Tensor = std::shared_ptr<Value>;
    using Data = typename Value::DataType;

    static Tensor valueOf(Data data)
    {
        Tensor value = std::make_shared<Value>();
        value->data = std::move(data);
        return value;
    }

    Tensor embedding(const Tensor& weight, const Tensor& tokens)
    {
        const Tensor x = valueOf(self().embed(weight, tokens));
        note("aten::embedding", {tokens}, [this, weight, tokens, x] {
            weight->grad = self().embeddingGradient(weight, tokens, taken(x));
            x->gradRounded = Data();
            tellGradient(weight);
        });
        return x;
    }

    Tensor rmsNorm(const Tensor& x, const Tensor& weight)
    {
        if (x->addendLater)
            x->addend = std::exchange(x->addendLater, {})();
        FusedNorm<Data> forward = self().addRmsNorm(x->data, std::exchange(x->addend, {}), weight);
        if (Self::isMade(forward.sum))
            x->data = std::move(forward.sum);
        const Tensor normed = valueOf(std::move(forward.output));
        const Tensor rows = valueOf(std::move(forward.rows));
        normed->isRecomputed = dropsSums();
        note("tilescope::add_rms_norm", {x, weight, rows}, [this, x, weight, rows, normed] {
            const Data residual = taken(x);
            Data again; // the output
            if (!Self::isMade(x->data)) {
                FusedNorm<Data> second =
                    self().addRmsNorm(x->base->data, std::exchange(x->again, {})(), weight);
                again = std::move(second.output);
                x->data = std::move(second.sum);
            }
            FusedNormGradients<Data> gradients =
                self().rmsNormBackward(taken(normed), x->data, weight, rows->data, residual);
            x->grad = std::move(gradients.input);
            x->gradRounded = std::move(gradients.rounded);
            if (normed->whenRecomputed) {
                if (!Self::isMade(again))
                    again = self().addRmsNorm(x->data, {}, weight).output;
                std::exchange(normed->whenRecomputed, {})(again);
            }
            weight->grad = self().gradientOfNorm(weight);
            side_->run({gradients.parts}, [&] {
                self().sumParts(weight, gradients.parts);
                tellGradient(weight);
            });
        });
        return normed;
    }

    Tensor mm(const Tensor& x, const Tensor& weight)
    {
        if (weight->isByChunks && recording_) {
            headInput_ = x;
            headWeight_ = weight;
            return valueOf({});
        }
        const Tensor y = valueOf(x->later ? Data() : self().weightProduct(x->data, weight, tokens_));
        if (x->later)
            y->later = [this, x, weight] {
                return self().weightProduct(std::exchange(x->later, {})(), weight, tokens_);
            };
        if (dropsSums() && !x->isRecomputed)
            y->again = [this, x, weight] { return self().weightProduct(x->data, weight, tokens_); };
        note("aten::mm", {x, weight}, [this, x, weight, y] {
            const Data gradient = taken(y);
            x->grad = self().inputGradient(gradient, weight);
            if (x->isRecomputed)
                x->whenRecomputed = [this, weight, gradient](const Data& data) {
                    weightGradient(weight, data, gradient);
                };
            else
                weightGradient(weight, x->data, gradient);
        });
        if (x->isRecomputed && recording_)
            x->data = Data();
        return y;
    }

    Tensor add(const Tensor& x, const Tensor& y)
    {
        const Tensor sum = valueOf(x->data);
        sum->addend = std::exchange(y->data, {});
        sum->addendLater = std::exchange(y->later, {});
        if (y->again) {
            sum->again = std::exchange(y->again, {});
            sum->base = x;
        }
        note("aten::add", {}, [x, y, sum] {
            x->grad = taken(sum);
            y->grad = std::exchange(sum->gradRounded, {});
        });
        if (x->again)
            x->data = Data();
        return sum;
    }
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) { return add(x, mm(a, b)); }
    bool addsProducts() const { return false; }

    /// Notes that the ranks get the block's gradients. In backward this note of the block runs last.
    Tensor enterBlock(std::int64_t block, const Tensor& x)
    {
        if (!self().parallel())
            return x;
        self().parallel()->enterBlock(block, x->data);
        quantizeBlock(block);
        note("", {}, [this, block] {
            forgetQuantized(block);
            handOverGradients();
        });
        return x;
    }

    /// Backward enters a block from its end.
    Tensor leaveBlock(std::int64_t block, const Tensor& x)
    {
        if (!self().parallel())
            return x;
        if (!isRecomputing_)
            forgetQuantized(block);
        self().parallel()->leaveBlock(block, x->data);
        note("", {}, [this, block] {
            handOverGradients(); // gradients of the final norm and the head, before those of the last block
            self().parallel()->enterBlock(block, {});
            quantizeBlock(block);
        });
        return x;
    }

    // Every rank computes whole layers.
    bool dividesLayers() const { return false; }
    Tensor intoParts(const Tensor& x) const { return x; }
    Tensor sumOfParts(const Tensor& y) const { return y; }

    TensorTriple<Tensor> splitHeads(const Tensor& qkv)
    {
        self().rotate(qkv->data, false);
        note("tilescope::rotate_heads_", {}, [this, qkv] { self().rotate(qkv->grad, true); });
        TensorTriple<Tensor> parts;
        std::ranges::transform(self().heads(qkv->data), parts.begin(), [&qkv](const Data& view) {
            Tensor part = valueOf(view);
            part->packed = qkv;
            return part;
        });
        return parts;
    }

    Tensor attention(const TensorTriple<Tensor>& qkv)
    {
        const Tensor packed = qkv[0]->packed;
        const Attended attended = attend(qkv);
        const Tensor merged = attended.output;
        const Tensor statistics = attended.statistics;
        note("tilescope::attention", {packed, merged, statistics}, [this, packed, merged, statistics] {
            packed->grad = self().gradientOfHeads(packed->data);
            const Data gradient = taken(merged);
            self().attentionBackward(packed, gradient, merged->data, statistics->data);
        });
        return merged;
    }
    Tensor mergeHeads(const Tensor& o) const { return o; } // attention's output has this layout

    Tensor swiGlu(const Tensor& gateUp)
    {
        const auto gated = [this, gateUp] { return self().swiGluForward(gateUp->data); };
        const bool isPutOff = isRecomputing_ && recording_;
        gated_ = Data();
        const Tensor y = valueOf(isPutOff ? Data() : gated());
        if (keepsAttention_ && !isRecomputing_)
            gated_ = y->data;
        if (isPutOff)
            y->later = gated;
        y->isRecomputed = true;
        note("tilescope::swiglu", {gateUp}, [this, gateUp, y] {
            const Data gradient = taken(y);
            self().swiGluBackward(gradient, gateUp->data);
            gateUp->grad = std::exchange(gateUp->data, {});
            std::exchange(y->whenRecomputed, {})(gradient); // swiGluBackward() has replaced its values with y
        });
        return y;
    }

    /// Runs the part again on the same inputs and sets their gradients. Its notes are separate, so that only one
    /// part is in memory at a time.
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs)
    {
        std::vector<Attended> attended;
        const bool wasRecording = std::exchange(recording_, false);
        keeping_ = wasRecording && keepsAttention_ ? &attended : nullptr;
        const Tensor output = part(inputs);
        keeping_ = nullptr;
        recording_ = wasRecording;
        std::vector<Tensor> kept;
        std::ranges::copy_if(inputs, std::back_inserter(kept),
                             [](const Tensor& input) { return input != nullptr; });
        for (const Attended& each : attended)
            kept.insert(kept.end(), {each.output, each.statistics});
        note("tilescope::recomputed", std::move(kept), [this, &part, inputs, output, attended] {
            std::vector<Note> outer = std::exchange(notes_, {});
            attended_.assign(attended.begin(), attended.end());
            isRecomputing_ = recording_ = true;
            const Tensor again = part(inputs);
            isRecomputing_ = recording_ = false;
            again->addendLater = {};
            again->grad = taken(output);
            again->gradRounded = std::exchange(output->gradRounded, {});
            runNotes();
            notes_ = std::move(outer);
        });
        return output;
    }

    /// Sets whether the following operations record their backward.
    void record(bool recording) { recording_ = recording; }
    /// Called for each parameter once its gradient is queued and the step no longer needs its value. The
    /// current stream is then that of the gradient.
    using GradientObserver = std::function<void(const Tensor& parameter)>;
    void observeGradients(GradientObserver observer) { observer_ = std::move(observer); }

    /// Sets the gradients of all parameters, whose `grad` must be undefined. Starts from `output->grad` or,
    /// after a cross entropy in chunks, from the gradient of the head's input.
    void backward()
    {
        gated_ = Data();
        const bool wasRecording = std::exchange(recording_, false);
        runNotes();
        if (self().parallel())
            handOverGradients();
        side_->join();
        recording_ = wasRecording;
    }

    /// Drops the notes of a step without a backward, or with a failed one.
    void forget()
    {
        notes_.clear();
        for (const auto& [block, weights] : toQuantize_)
            forgetQuantized(block);
        attended_.clear();
        gated_ = Data();
        keeping_ = nullptr;
        isRecomputing_ = false;
        withGradient_.clear();
        headInput_.reset();
        headWeight_.reset();
        side_->join();
    }

protected:
    struct Note {
        std::vector<std::string> modules; ///< the ranges that were open when the note was recorded
        const char* op = "";
        std::vector<Tensor> saved;
        std::function<void()> backward;
    };

    /// \param tokens          of a step
    /// \param keepsAttention  recomputed blocks keep the output of attention
    FusedTape(std::int64_t tokens, bool keepsAttention, std::shared_ptr<Side> side)
        : tokens_(tokens), side_(std::move(side)), keepsAttention_(keepsAttention)
    {
    }

    /// Moves the gradient out of a value that needs it no more.
    static Data taken(const Tensor& value) { return std::exchange(value->grad, {}); }

    void note(const char* op, std::vector<Tensor> saved, std::function<void()> backward)
    {
        if (!recording_)
            return;
        for (const Tensor& value : saved)
            self().keepForBackward(value);
        notes_.push_back({Self::NoteRanges::now(), op, std::move(saved), std::move(backward)});
    }

    void tellGradient(const Tensor& parameter)
    {
        if (self().parallel())
            withGradient_.push_back(parameter);
        if (observer_)
            observer_(parameter);
    }

    std::int64_t tokens_;
    std::shared_ptr<Side> side_;
    std::map<std::int64_t, std::vector<Tensor>>
        toQuantize_; ///< weights by block, quantised while they are gathered
    // The factors of the product that the cross entropy computes in chunks.
    Tensor headInput_;
    Tensor headWeight_;
    std::vector<Note> notes_;

private:
    /// The results of an attention that its backward needs.
    struct Attended {
        Tensor output;
        Tensor statistics;
    };

    Self& self() { return static_cast<Self&>(*this); }

    bool dropsSums() const { return keepsAttention_ && recording_ && !isRecomputing_; }

    Attended attend(const TensorTriple<Tensor>& qkv)
    {
        if (!attended_.empty()) {
            const Attended kept = std::move(attended_.front());
            attended_.pop_front();
            return {valueOf(std::exchange(kept.output->data, {})),
                    valueOf(std::exchange(kept.statistics->data, {}))};
        }
        const FusedAttention<Data> made = self().attentionForward({qkv[0]->data, qkv[1]->data, qkv[2]->data},
                                                                  recording_ || keeping_ != nullptr);
        if (keeping_ != nullptr)
            keeping_->push_back({valueOf(made.output), valueOf(made.statistics)});
        return {valueOf(made.output), valueOf(made.statistics)};
    }

    void weightGradient(const Tensor& weight, const Data& x, const Data& gradient)
    {
        if (self().updatesWithGradient(weight, x, gradient))
            return side_->run({x, gradient}, [&] { self().updateWithGradient(weight, x, gradient); });
        weight->grad = self().gradientLike(weight);
        side_->run({x, gradient}, [&] {
            self().computeWeightGradient(weight, true, x, gradient);
            tellGradient(weight);
        });
    }

    void quantizeBlock(std::int64_t block)
    {
        if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
            for (const Tensor& weight : found->second)
                if (!weight->quantized)
                    self().storeIn8Bits(weight);
    }

    void forgetQuantized(std::int64_t block)
    {
        if (const auto found = toQuantize_.find(block); found != toQuantize_.end())
            for (const Tensor& weight : found->second)
                weight->quantized.reset();
    }

    /// Runs on the current stream, because the ranks free memory on it.
    void handOverGradients()
    {
        side_->join();
        for (const Tensor& parameter : std::exchange(withGradient_, {}))
            self().handOver(parameter);
    }

    /// Runs each note within its own ranges, opened inside the current ones.
    void runNotes()
    {
        typename Self::NoteRanges ranges;
        while (!notes_.empty()) {
            const Note note = std::move(notes_.back());
            notes_.pop_back();
            ranges.enter(note.modules);
            note.backward();
        }
    }

    GradientObserver observer_;
    std::vector<Tensor> withGradient_; ///< parameters whose gradients are not yet handed to the ranks
    bool keepsAttention_;
    std::vector<Attended>* keeping_ = nullptr; ///< set while a part runs that backward will recompute
    std::deque<Attended> attended_;            ///< kept results of the part that is being recomputed
    bool isRecomputing_ = false;
    /// Keeps the output of swiGlu() until the next call in forward. If it were freed earlier, the allocator would
    /// split its memory for the smaller residual stream, which stays allocated, and each block would leave a fragment.
    Data gated_;
    bool recording_ = true;
};

} // namespace tilescope

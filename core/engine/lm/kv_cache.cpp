#include "core/engine/lm/kv_cache.h"

#include "core/engine/common/set_up.h"
#include "core/model/generation.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <string>
#include <vector>

namespace tilescope::engine {
namespace {

using at::Tensor;

struct LayerCache {
    Tensor keys;
    Tensor values;
};

std::string cacheName(std::size_t layer, const char* what)
{
    return "layers." + std::to_string(layer) + "/cache/" + what;
}

std::vector<LayerCache> makeLayers(const ExperimentSpec& spec, at::IntArrayRef shape,
                                   at::TensorOptions options)
{
    std::vector<LayerCache> layers(static_cast<std::size_t>(spec.layers));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        {
            const Making making(MemoryCategory::Inputs, cacheName(i, "keys"));
            layers[i].keys = at::zeros(shape, options);
        }
        const Making making(MemoryCategory::Inputs, cacheName(i, "values"));
        layers[i].values = at::zeros(shape, options);
    }
    return layers;
}

void visitLayers(const std::vector<LayerCache>& layers, const HoldVisitor& visit)
{
    for (std::size_t i = 0; i < layers.size(); ++i) {
        visit(MemoryCategory::Inputs, cacheName(i, "keys"), layers[i].keys);
        visit(MemoryCategory::Inputs, cacheName(i, "values"), layers[i].values);
    }
}

// (batch, kvHeads, tokens, d) per layer.
class ContiguousCache final : public KvCache {
public:
    ContiguousCache(const ExperimentSpec& spec, at::TensorOptions options)
        : layers_(makeLayers(spec, {spec.batch, spec.kvHeads, cachedTokens(spec), spec.dModel / spec.heads},
                             options))
    {
    }

    void write(std::int64_t layer, std::int64_t first, const Tensor& keys, const Tensor& values) override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        cache.keys.narrow(2, first, keys.size(2)).copy_(keys);
        cache.values.narrow(2, first, values.size(2)).copy_(values);
    }

    std::array<Tensor, 2> read(std::int64_t layer, std::int64_t length) override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        return {cache.keys.narrow(2, 0, length), cache.values.narrow(2, 0, length)};
    }

    Place place(std::int64_t layer, std::int64_t position) const override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        return {cache.keys.select(2, position), cache.values.select(2, position), std::nullopt};
    }

    void visitHeld(const HoldVisitor& visit) const override { visitLayers(layers_, visit); }

private:
    std::vector<LayerCache> layers_;
};

// (kvHeads, pages, page, d) per layer. The pages of the sequences are in random order, as after many requests.
class PagedCache final : public KvCache {
public:
    PagedCache(const ExperimentSpec& spec, at::TensorOptions options)
        : batch_(spec.batch), kvHeads_(spec.kvHeads), page_(spec.page), headDim_(spec.dModel / spec.heads),
          layers_(makeLayers(spec, {kvHeads_, batch_ * pagesOfSequence(spec), page_, headDim_}, options))
    {
        const std::int64_t pages = pagesOfSequence(spec);
        const auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(spec.seed));
        const Tensor order =
            at::randperm(batch_ * pages, generator, at::dtype(at::kLong)).view({batch_, pages});
        const Tensor offsets = at::arange(page_, at::dtype(at::kLong));
        const Tensor slots = (order.unsqueeze(2) * page_ + offsets).view({batch_, pages * page_});
        {
            const Making making(MemoryCategory::Inputs, kTable);
            table_ = order.to(at::device(options.device()).dtype(at::kInt));
        }
        const Making making(MemoryCategory::Inputs, kSlots);
        slots_ = slots.t().contiguous().to(options.device());
    }

    void write(std::int64_t layer, std::int64_t first, const Tensor& keys, const Tensor& values) override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        const Tensor slots = slots_.narrow(0, first, keys.size(2)).view({-1});
        writeSlots(cache.keys, slots, keys);
        writeSlots(cache.values, slots, values);
    }

    std::array<Tensor, 2> read(std::int64_t layer, std::int64_t length) override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        const std::int64_t pages = (length + page_ - 1) / page_;
        const Tensor table = table_.narrow(1, 0, pages).reshape({-1});
        const auto gathered = [&](const Tensor& pool) {
            return pool.index_select(1, table)
                .view({kvHeads_, batch_, pages * page_, headDim_})
                .transpose(0, 1)
                .narrow(2, 0, length);
        };
        return {gathered(cache.keys), gathered(cache.values)};
    }

    Place place(std::int64_t layer, std::int64_t position) const override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        const auto rows = [&](const Tensor& pool) { return pool.view({kvHeads_, -1, headDim_}); };
        return {rows(cache.keys), rows(cache.values), slots_.select(0, position)};
    }

    std::optional<Pages> pages(std::int64_t layer) const override
    {
        const LayerCache& cache = layers_[static_cast<std::size_t>(layer)];
        return Pages{cache.keys, cache.values, table_};
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        visitLayers(layers_, visit);
        visit(MemoryCategory::Inputs, kTable, table_);
        visit(MemoryCategory::Inputs, kSlots, slots_);
    }

private:
    static constexpr const char* kTable = "cache/pages";
    static constexpr const char* kSlots = "cache/slots";

    // x (batch, kvHeads, n, d) to the slots of n·batch tokens.
    void writeSlots(const Tensor& pool, const Tensor& slots, const Tensor& x) const
    {
        pool.view({kvHeads_, -1, headDim_})
            .index_copy_(1, slots, x.permute({1, 2, 0, 3}).reshape({kvHeads_, -1, headDim_}));
    }

    std::int64_t batch_;
    std::int64_t kvHeads_;
    std::int64_t page_;
    std::int64_t headDim_;
    std::vector<LayerCache> layers_;
    Tensor table_; // (batch, pages of a sequence), int32: page of the pool
    Tensor slots_; // (tokens, batch): where a token is in the pool
};

} // namespace

std::unique_ptr<KvCache> makeKvCache(const ExperimentSpec& spec, at::TensorOptions options)
{
    if (spec.cache == CacheKind::Paged)
        return std::make_unique<PagedCache>(spec, options);
    return std::make_unique<ContiguousCache>(spec, options);
}

} // namespace tilescope::engine

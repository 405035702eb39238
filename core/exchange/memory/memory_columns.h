#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/exchange/tables/stack_frames.h"
#include "core/model/text.h"
#include "core/query/memory/memory_history.h"
#include "core/query/memory/memory_reading.h"
#include "core/query/memory/memory_tables.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::exchange {

/// The name of a block: its tensor, otherwise the module or the frames of the stack that requested it, and the op:
/// layers.3/ffn mm.
/// \param ops  names of ops that the history does not hold; may be null
std::string nameOf(const query::MemoryHistory& history, const query::MemoryLife& block,
                   const query::MemoryOps* ops = nullptr);

/// The columns of blocks of memory. A row is the index of a block of the history.
struct MemoryBlockColumns {
    using Row = std::uint32_t;
    using Of = ColumnOf<Row>;
    using History = query::MemoryHistory;
    using Block = query::MemoryLife;

    /// \param blocks  must outlive the columns, like `opNames`
    /// \param origin  instant of the history from which times count
    explicit MemoryBlockColumns(const History& blocks, const query::MemoryOps* opNames = nullptr,
                                std::int64_t origin = 0)
        : history(&blocks), ops(opNames), zero(origin)
    {
    }

    const History* history;
    const query::MemoryOps* ops;
    std::int64_t zero;

    Of name = of("block", "block", [o = ops](const History& h, const Block& b) { return nameOf(h, b, o); },
                 {.keep = 0, .audience = Audience::Programs, .elidable = true});
    Of bytes =
        of("bytes", "bytes", [](const History&, const Block& b) { return Bytes{b.bytes}; }, {.keep = 2});
    Of category =
        of("category", "category", [](const History&, const Block& b) { return wordOf(b.category); });
    Of path = of("path", "range", [](const History& h, const Block& b) { return cellOrNull(h.text(b.path)); },
                 {.audience = Audience::Programs});
    Of range = of("path", "range",
                  [](const History& h, const Block& b) { return cellOrNull(stackLine(h.text(b.path))); },
                  {.keep = 2, .audience = Audience::People, .elidable = true});
    Of op = of("op", "op", [o = ops](const History& h, const Block& b) { return cellOrNull(opOf(h, b, o)); },
               {.elidable = true});
    Of tensor =
        of("name", "tensor", [](const History& h, const Block& b) { return cellOrNull(h.text(b.name)); },
           {.elidable = true});
    Of shape = of("shape", "shape",
                  [o = ops](const History& h, const Block& b) { return cellOrNull(shapesOf(h, b, o)); },
                  {.keep = 0, .elidable = true});
    Of since = of("t_ns", "since", [z = zero](const History&, const Block& b) {
        return b.isOlder() ? std::nullopt : std::optional(Nanoseconds(b.begin - z));
    });
    Of lifetime =
        of("lifetime_ns", "lives",
           [](const History&, const Block& b) {
               return b.isOlder() || b.isLeft() ? std::nullopt : std::optional(Nanoseconds(b.end - b.begin));
           },
           {.keep = 0});
    Of address = of("address", "address",
                    [](const History&, const Block& b) { return static_cast<std::int64_t>(b.address); },
                    {.unit = Unit::Address, .keep = 0});
    Of device = of("device", "device", [](const History& h, const Block&) { return deviceText(h.device); },
                   {.keep = 0});
    Of code = of("code", "code",
                 [](const History& h, const Block& b) { return cellOrNull(h.places.lineOf(h.text(b.path))); },
                 {.keep = 0, .elidable = true});

private:
    template <class Get> Of of(std::string key, std::string title, Get get, const Shown& shown = {}) const
    {
        return Of(
            std::move(key), std::move(title),
            [h = history, get](Row block) { return get(*h, h->blocks[block]); }, shown);
    }
};

/// The columns of groups of blocks.
struct MemoryGroupColumns {
    using Row = query::MemoryGroupRow;
    using Of = ColumnOf<Row>;

    /// \param grouping  what the names are: category, phase, module, op
    explicit MemoryGroupColumns(const std::string& grouping)
        : key("key", grouping, &Row::key, {.audience = Audience::Programs}),
          name("key", grouping, [](const Row& row) { return cellOf(stackLine(row.key)); },
               {.keep = 2, .audience = Audience::People, .elidable = true})
    {
    }

    Of key;
    Of name;
    Of held = Of("at_peak", "at peak", &Row::held, {.keep = 2, .unitGroup = 1});
};

} // namespace tilescope::exchange

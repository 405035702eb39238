#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/calls/call_tree.h"
#include "core/query/path/what_if_table.h"
#include "core/query/runs/event_query.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::cli {

enum class ShowFormat { Table, Json, Csv, Markdown };

/// The arguments of `tilescope show`.
struct ShowRequest {
    std::string file;
    std::string section = "runs";
    query::EventQuery query;
    std::optional<std::string> group;
    std::optional<std::string> at;
    std::optional<std::string> question;
    std::string kernel;
    std::optional<std::int32_t> step;
    query::CallTreeOptions tree;
    bool invert = false;
    std::string against;
    bool names = false;
    std::vector<query::WorkScale> scales;
    std::vector<std::string> removed;
    bool freeLaunches = false;
    bool freeCommunication = false;
    ShowFormat format = ShowFormat::Table;
    std::size_t limit = 200;
    bool hasLimit = false; ///< --limit was given
};

/// Options that only some sections take, as bits.
enum class Takes : std::uint16_t {
    Nothing = 0,
    Range = 1,       ///< --range
    Process = 2,     ///< --rank and --process
    Device = 4,      ///< --device
    Step = 8,        ///< --step
    Span = 16,       ///< --from and --to
    Tree = 32,       ///< --weight, --invert, --filter and --thread
    Change = 64,     ///< --scale, --remove and --free
    Blocks = 128,    ///< --at and --names
    Kernel = 256,    ///< --kernel
    Against = 512,   ///< --against
    AllSteps = 1024, ///< --all-steps
};

constexpr Takes operator|(Takes a, Takes b)
{
    return static_cast<Takes>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// A section of `tilescope show`: its sentence and examples in help, the options that it takes and its table. Help, checks,
/// error messages, completions and man pages follow from this declaration.
struct ShowSection {
    std::string_view name;
    std::string_view help;
    std::vector<std::string_view> examples; ///< what follows `tilescope show a.tscope NAME`
    Takes takes = Takes::Nothing;
    std::vector<std::string_view> groups = {}; ///< values of --group; empty: no grouping
    exchange::Table (*table)(const store::RunReader&, const ShowRequest&) = nullptr;
    /// Writes the output for people if it is not a table.
    void (*text)(const store::RunReader&, const ShowRequest&, std::ostream&) = nullptr;

    bool has(Takes option) const
    {
        return (static_cast<unsigned>(takes) & static_cast<unsigned>(option)) != 0;
    }
};

/// All sections, in the order of help.
std::span<const ShowSection> showSections();

/// \throws Error (Usage)  there is none with this name; names the most similar one
const ShowSection& showSectionOf(std::string_view name);

} // namespace tilescope::cli

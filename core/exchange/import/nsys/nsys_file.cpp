#include "core/exchange/import/nsys/nsys_file.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::exchange {

namespace {

/// Strings are cut at this length. The longest names are those of kernels; but the table also holds the
/// output of the program and whole files, which an import does not use.
constexpr std::size_t kLongestString = 64 << 10;
/// Ids are indices where the table of strings is at most this many times as large as needed.
constexpr std::int64_t kDenseFactor = 8;
constexpr std::int64_t kDenseAtLeast = 1 << 20;

/// Whether a table is `name` with a suffix of a version: NAME_V2.
bool isVersionOf(std::string_view table, std::string_view name)
{
    if (!table.starts_with(name) || !table.substr(name.size()).starts_with("_V"))
        return false;
    const std::string_view digits = table.substr(name.size() + 2);
    return !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

bool NsysFile::matches(const store::ForeignDatabase& database)
{
    if (!database.hasColumn("StringIds", "id") || !database.hasColumn("StringIds", "value"))
        return false;
    // A recording without GPU activities still has one of the others.
    constexpr std::array<std::string_view, 8> kMarks{
        "CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "META_DATA_EXPORT", "EXPORT_META_DATA",
        "NVTX_EVENTS",          "OSRT_API",     "ANALYSIS_DETAILS", "META_DATA_CAPTURE"};
    return std::ranges::any_of(database.tables(), [&](const std::string& table) {
        return std::ranges::any_of(kMarks, [&](std::string_view mark) { return table.starts_with(mark); });
    });
}

NsysFile::NsysFile(const std::filesystem::path& file) : database_(file)
{
    readStrings();
}

std::string NsysFile::tableNamed(std::string_view name) const
{
    if (database_.hasTable(name))
        return std::string(name);
    std::string newest;
    for (const std::string& table : database_.tables())
        if (isVersionOf(table, name) && (table.size() > newest.size() || table > newest))
            newest = table;
    return newest;
}

store::ForeignDatabase::Rows NsysFile::read(std::string_view name,
                                            std::initializer_list<std::string_view> columns) const
{
    return database_.read(tableNamed(name), columns);
}

store::ForeignIntegers NsysFile::readIntegers(std::string_view name,
                                              std::initializer_list<std::string_view> columns) const
{
    return {database_, tableNamed(name), columns};
}

std::int64_t NsysFile::aboutRows(std::string_view name) const
{
    return database_.aboutRows(tableNamed(name));
}

void NsysFile::readStrings()
{
    const std::int64_t most = database_.aboutRows("StringIds");
    const std::int64_t denseBelow = std::max(kDenseAtLeast, most * kDenseFactor);
    auto rows = database_.read("StringIds", {"id", "value"});
    while (rows.next()) {
        const auto id = rows.integer(0);
        if (!id)
            continue;
        const std::string_view text = rows.text(1).substr(0, kLongestString);
        if (*id < 0 || *id >= denseBelow) {
            sparse_.emplace(*id, text);
            continue;
        }
        const auto index = static_cast<std::size_t>(*id);
        if (index >= dense_.size())
            dense_.resize(index + 1);
        dense_[index] = text;
    }
}

std::string_view NsysFile::string(std::int64_t id) const
{
    if (id >= 0 && id < static_cast<std::int64_t>(dense_.size()))
        return dense_[static_cast<std::size_t>(id)];
    if (sparse_.empty())
        return {};
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? std::string_view() : found->second;
}

std::int64_t NsysFile::enumerator(std::string_view table, std::string_view symbol,
                                  std::int64_t otherwise) const
{
    auto rows = database_.read(table, {"id", "name"});
    while (rows.next())
        if (rows.text(1) == symbol)
            return rows.integerOr(0, otherwise);
    return otherwise;
}

std::string NsysFile::fact(std::string_view table, std::string_view name) const
{
    constexpr std::size_t kLongestFact = 200;
    auto rows = database_.read(table, {"name", "value"});
    while (rows.next())
        if (rows.text(0) == name)
            return std::string(rows.text(1).substr(0, kLongestFact));
    return {};
}

} // namespace tilescope::exchange

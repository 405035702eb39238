#include "core/store/string_map.h"

#include <algorithm>
#include <string>

namespace tilescope::store {

namespace {

std::array<std::int64_t, 13> valuesOf(const LaunchConfig& launch)
{
    return {launch.grid[0],       launch.grid[1],
            launch.grid[2],       launch.block[0],
            launch.block[1],      launch.block[2],
            launch.cluster[0],    launch.cluster[1],
            launch.cluster[2],    launch.registersPerThread,
            launch.staticShared,  launch.dynamicShared,
            launch.localPerThread};
}

} // namespace

StringMap::StringMap(SQLite::Database& database, RowLedger& ledger, const StringTable& strings)
    : ledger_(ledger), strings_(strings), findText_(database, "select id from string where text = ?"),
      insertText_(database, "insert into string (id, text) values (?, ?)"),
      insertKernelName_(database, "insert or ignore into kernel_name (id, short) values (?, ?)"),
      insertLaunch_(database, "insert into launch values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      database_(database)
{
    // First of all, so that the words get the smallest ids.
    for (std::size_t set = 0; set < kWordSets; ++set) {
        const auto words = wordsOf(static_cast<WordSet>(set));
        for (std::size_t value = 0; value < words.size(); ++value)
            if (!words[value].empty())
                words_[set][value] = intern(words[value]);
    }
    loadLaunches();
}

void StringMap::loadLaunches()
{
    SQLite::Statement rows(database_, "select * from launch");
    while (rows.executeStep()) {
        const auto number = [&rows](int column) { return rows.getColumn(column).getUInt(); };
        launches_.emplace(LaunchConfig{{number(1), number(2), number(3)},
                                       {number(4), number(5), number(6)},
                                       {number(7), number(8), number(9)},
                                       number(10),
                                       number(11),
                                       number(12),
                                       number(13)},
                          rows.getColumn(0).getInt64());
    }
}

std::int64_t StringMap::intern(std::string_view text)
{
    const std::string value(text);
    findText_.bindNoCopy(1, value);
    const std::int64_t known = findText_.executeStep() ? findText_.getColumn(0).getInt64() : 0;
    findText_.reset();
    if (known)
        return known;
    const std::int64_t id = ledger_.takeId(Source::String);
    insertText_.bind(1, id);
    insertText_.bindNoCopy(2, value);
    insertText_.exec();
    insertText_.reset();
    RowDigest digest;
    digest.add(id);
    digest.add(text);
    ledger_.add(Source::String, {}, id, digest);
    return id;
}

std::int64_t StringMap::text(StringId id)
{
    if (!id)
        return kNull;
    if (id.value < ids_.size() && ids_[id.value] != 0)
        return ids_[id.value];
    return addText(id);
}

std::int64_t StringMap::addText(StringId id)
{
    const std::int64_t ours = intern(strings_.text(id));
    if (id.value >= ids_.size()) {
        ids_.resize(std::max<std::size_t>(id.value + 1, 2 * ids_.size()));
        hasShortName_.resize(ids_.size());
    }
    ids_[id.value] = ours;
    return ours;
}

std::int64_t StringMap::kernelName(StringId id)
{
    const std::int64_t ours = text(id);
    if (ours != kNull && !hasShortName_[id.value]) {
        addKernelName(ours, strings_.text(id));
        hasShortName_[id.value] = true;
    }
    return ours;
}

void StringMap::addKernelName(std::int64_t id, std::string_view text)
{
    const std::int64_t shortId = intern(shortKernelName(text));
    insertKernelName_.bind(1, id);
    insertKernelName_.bind(2, shortId);
    const int added = insertKernelName_.exec();
    insertKernelName_.reset();
    if (added == 0)
        return;
    RowDigest digest;
    digest.add(id);
    digest.add(shortId);
    ledger_.add(Source::KernelName, {}, id, digest);
}

std::int64_t StringMap::launch(const LaunchConfig& launch)
{
    const auto [place, isNew] = launches_.try_emplace(launch, 0);
    if (!isNew)
        return place->second;
    const std::int64_t id = ledger_.takeId(Source::Launch);
    place->second = id;
    RowDigest digest;
    digest.add(id);
    insertLaunch_.bind(1, id);
    int position = 2;
    for (const std::int64_t value : valuesOf(launch)) {
        insertLaunch_.bind(position++, value);
        digest.add(value);
    }
    insertLaunch_.exec();
    insertLaunch_.reset();
    ledger_.add(Source::Launch, {}, id, digest);
    return id;
}

} // namespace tilescope::store

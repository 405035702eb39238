#include "core/base/error.h"
#include "core/config/rules.h"
#include "core/config/utf8.h"
#include "core/config/value.h"
#include "core/config/wording.h"
#include "core/config/yaml_tree.h"
#include "core/model/attention_backend.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::config {

namespace {

constexpr std::size_t kMostProblems = 100;

/// Where a value was written.
struct Place {
    Position position = {};
    const std::string* flag = nullptr; ///< command-line flag; null: in the file
};

/// A checked value.
struct Setting {
    std::size_t row = 0;
    Value value;
    Place place;
};
using Settings = std::vector<Setting>;

class Expansion {
public:
    explicit Expansion(const SpecDocument& document, DevicePolicy policy = DevicePolicy::Refuse)
        : document_(document), policy_(policy)
    {
    }

    std::vector<ExperimentSpec> run()
    {
        requirePointCount(document_);
        readWorkload();
        for (const SpecDocument::Entry& entry : document_.fixed)
            apply(base_, judged(entry, !entry.underFixed && entry.flag.empty()));
        for (const SpecDocument::Axis& axis : document_.axes)
            axes_.push_back(judged(axis));
        if (base_.name.empty())
            base_.name = defaultName();

        std::vector<ExperimentSpec> specs;
        specs.reserve(static_cast<std::size_t>(document_.pointCount()));
        if (document_.points.empty())
            expandAxes(base_, specs);
        for (const SpecDocument::Point& point : document_.points)
            expandPoint(point, specs);
        requireUsedTiles(specs);
        requireUsedBucket(specs);
        requireGeneration(specs);
        requireRunCount(specs);
        return specs;
    }

    /// The problems of single values.
    std::vector<SpecProblem> valueProblems()
    {
        std::vector<SpecProblem> problems;
        const auto collect = [&](const std::string& key, const auto& judge) {
            try {
                if (problems.size() < kMostProblems)
                    judge();
            } catch (const Error& error) {
                problems.push_back(problemOf(error, key));
            }
        };
        collect("workload", [&] { readWorkload(); });
        if (!problems.empty())
            return problems;
        for (const SpecDocument::Entry& entry : document_.fixed)
            collect(entry.key, [&] { judged(entry, !entry.underFixed); });
        for (const SpecDocument::Axis& axis : document_.axes)
            collect(axis.key, [&] { judged(axis); });
        for (const SpecDocument::Point& point : document_.points)
            for (const SpecDocument::Entry& entry : point)
                collect(entry.key, [&] { judgedInPoint(entry); });
        return problems;
    }

    static SpecProblem problemOf(const Error& error, std::string key)
    {
        return {.key = std::move(key),
                .sentence = Error{.what = error.what, .remedy = error.remedy}.sentence(),
                .where = error.where};
    }

    /// The key that broke the last rule between keys.
    const std::string& blamed() const { return blamed_; }

private:
    std::string placeText(const Place& place) const
    {
        return place.flag && !place.flag->empty() ? *place.flag : placeOf(document_.origin, place.position);
    }

    [[noreturn]] void refuse(const Place& place, std::string what, std::string remedy) const
    {
        if (place.flag && !place.flag->empty())
            remedy = asFlags(std::move(remedy), *place.flag);
        throw Error{.what = std::move(what), .where = placeText(place), .remedy = std::move(remedy)};
    }

    /// The workload determines which keys are allowed, so it is read first.
    void readWorkload()
    {
        static const std::size_t row = rowOf("workload");
        const KeyInfo& info = keyRows()[row].info;
        if (const SpecDocument::Entry* entry = document_.findFixed(info.name)) {
            apply(base_, judged(*entry, false));
            return;
        }
        for (const SpecDocument::Axis& axis : document_.axes)
            if (axis.key == info.name)
                requireSweepable(row, {axis.position, &axis.flag});
        for (const SpecDocument::Point& point : document_.points)
            for (const SpecDocument::Entry& entry : point)
                if (entry.key == info.name)
                    requireSweepable(row, {entry.position, &entry.flag});
        // Report a misspelt key (`workloud`) rather than a missing one.
        for (const SpecDocument::Entry& entry : document_.fixed)
            if (const KeyInfo* known = findKey(entry.key); !known || known->name != entry.key)
                refuseKey(entry.key, {entry.position, &entry.flag}, !entry.underFixed);
        refuse({}, "the key 'workload' is missing", "write workload: and one of " + joined(info.choices));
    }

    [[noreturn]] void refuseKey(const std::string& key, const Place& place, bool topLevel) const
    {
        std::vector<std::string> allowed;
        for (const KeyRow& row : keyRows())
            if (row.info.appliesTo(base_.workload))
                allowed.emplace_back(row.info.name);
        if (topLevel)
            allowed.insert(allowed.end(), {"fixed", "sweep"});
        const std::string list = "allowed here: " + joined(allowed);
        if (const KeyInfo* info = findKey(key); info && info->name == key)
            refuse(place, fmt::format("the key '{}' is not for workload {}", key, wordOf(base_.workload)),
                   list);
        if (key == "<<")
            refuse(place, "YAML's merge key has no meaning here", "write the keys out");
        // In YAML, `batch 8` is a key without a value.
        const std::size_t space = key.find(' ');
        if (space != std::string::npos && std::ranges::find(allowed, key.substr(0, space)) != allowed.end())
            refuse(place, "no colon in " + shown(key),
                   "write " + key.substr(0, space) + ": " + madePrintable(key.substr(space + 1), 40));
        refuse(place, "unknown key " + shown(key), question(key, allowed) + list);
    }

    std::size_t rowFor(const std::string& key, const Place& place, bool topLevel) const
    {
        static const std::unordered_map<std::string_view, std::size_t> rows = [] {
            std::unordered_map<std::string_view, std::size_t> map;
            for (std::size_t row = 0; row < keyRows().size(); ++row)
                map.emplace(keyRows()[row].info.name, row);
            return map;
        }();
        const auto found = rows.find(key);
        if (found == rows.end() || !keyRows()[found->second].info.appliesTo(base_.workload))
            refuseKey(key, place, topLevel);
        return found->second;
    }

    Setting judged(std::size_t row, const SpecValue& written, const Place& place) const
    {
        try {
            return {.row = row, .value = parseValue(keyRows()[row].info, written), .place = place};
        } catch (Error& error) {
            error.where = placeText(place);
            throw;
        }
    }

    Setting judged(const SpecDocument::Entry& entry, bool topLevel) const
    {
        const std::size_t row = rowFor(entry.key, {entry.position, &entry.flag}, topLevel);
        return judged(row, entry.value, {entry.value.position, &entry.flag});
    }

    Setting judgedInPoint(const SpecDocument::Entry& entry) const
    {
        const Place place{entry.position, &entry.flag};
        requireSweepable(rowFor(entry.key, place, false), place);
        return judged(entry, false);
    }

    Settings judged(const SpecDocument::Axis& axis) const
    {
        const Place place{axis.position, &axis.flag};
        const std::size_t row = rowFor(axis.key, place, false);
        requireSweepable(row, place);
        Settings settings;
        std::unordered_set<std::string> seen;
        for (const SpecValue& written : axis.values) {
            settings.push_back(judged(row, written, {written.position, &axis.flag}));
            const std::string text = jsonText(settings.back().value);
            if (!seen.insert(text).second)
                refuse(settings.back().place,
                       fmt::format("sweep gives {} the value {} twice", axis.key, text), "remove one");
        }
        return settings;
    }

    void requireSweepable(std::size_t row, const Place& place) const
    {
        const KeyInfo& info = keyRows()[row].info;
        if (!info.sweepable)
            refuse(place, fmt::format("the key '{}' cannot be swept", info.name),
                   "write it at top level or under fixed, with one value");
    }

    void apply(ExperimentSpec& spec, const Setting& setting)
    {
        keyRows()[setting.row].set(spec, setting.value);
        given_.set(setting.row);
        places_[setting.row] = setting.place;
    }

    void expandPoint(const SpecDocument::Point& point, std::vector<ExperimentSpec>& specs)
    {
        const GivenKeys given = given_;
        const auto places = places_;
        ExperimentSpec spec = base_;
        std::vector<std::string> signature;
        for (const SpecDocument::Entry& entry : point) {
            const Setting setting = judgedInPoint(entry);
            signature.push_back(entry.key + "=" + jsonText(setting.value));
            apply(spec, setting);
        }
        requireNewPoint(point, std::move(signature));
        expandAxes(spec, specs);
        given_ = given;
        places_ = places;
    }

    void requireNewPoint(const SpecDocument::Point& point, std::vector<std::string> signature)
    {
        std::ranges::sort(signature);
        const Place place = point.empty() ? Place{} : Place{point.front().position, &point.front().flag};
        const auto [seen, isNew] =
            seenPoints_.emplace(fmt::format("{}", fmt::join(signature, "\n")), place.position);
        if (!isNew)
            refuse(place, "sweep lists the same point twice",
                   fmt::format("it is given at line {} already; remove one", seen->second.line));
    }

    /// Advances the axes like an odometer, the last one fastest.
    void expandAxes(const ExperimentSpec& start, std::vector<ExperimentSpec>& specs)
    {
        std::vector<std::size_t> at(axes_.size(), 0);
        for (;;) {
            ExperimentSpec spec = start;
            for (std::size_t i = 0; i < axes_.size(); ++i)
                apply(spec, axes_[i][at[i]]);
            applyDefaults(spec, given_);
            requireRules(spec);
            specs.push_back(std::move(spec));
            std::size_t axis = axes_.size();
            while (axis > 0 && ++at[axis - 1] == axes_[axis - 1].size())
                at[--axis] = 0;
            if (axis == 0)
                return;
        }
    }

    void requireRules(const ExperimentSpec& spec)
    {
        std::optional<BrokenRule> broken = brokenRule(spec);
        if (!broken && policy_ == DevicePolicy::Refuse)
            broken = brokenDeviceRule(spec);
        if (!broken)
            return;
        Place place;
        for (const std::string_view key : broken->keys) {
            if (const std::size_t row = rowOf(key); given_[row]) {
                place = places_[row];
                blamed_ = key;
                break;
            }
        }
        refuse(place, broken->what, broken->remedy);
    }

    /// Tile sizes that no point uses are an error, unless the sweep has several backends.
    void requireUsedTiles(const std::vector<ExperimentSpec>& specs)
    {
        const auto uses = [](const ExperimentSpec& spec) { return traitsOf(spec.backend).hasTiles; };
        for (const std::string_view key : {"tile_q", "tile_k"}) {
            const std::size_t row = rowOf(key);
            if (!given_[row] || std::ranges::any_of(specs, uses))
                continue;
            blamed_ = key;
            refuse(places_[row], fmt::format("{} is for backend flash-torch, and no point has it", key),
                   "remove it or write backend: flash-torch");
        }
    }

    /// A bucket size that no point uses is an error, unless the sweep has several values of `parallel`.
    void requireUsedBucket(const std::vector<ExperimentSpec>& specs)
    {
        const std::size_t row = rowOf("bucket");
        if (!given_[row] || std::ranges::any_of(specs, hasBuckets, &ExperimentSpec::parallel))
            return;
        blamed_ = "bucket";
        refuse(places_[row],
               "bucket is for parallel ddp, optimizer-sharding and zero1, and no point has one of them",
               "remove it or write parallel: ddp");
    }

    /// Keys of mode generate that no point uses are an error, unless the sweep has several modes or caches.
    void requireGeneration(const std::vector<ExperimentSpec>& specs)
    {
        const auto generates = [](const ExperimentSpec& spec) { return spec.mode == Mode::Generate; };
        const auto isPaged = [](const ExperimentSpec& spec) { return spec.cache == CacheKind::Paged; };
        const bool anyGenerates = std::ranges::any_of(specs, generates);
        for (std::size_t row = 0; row < keyRows().size(); ++row) {
            const KeyInfo& info = keyRows()[row].info;
            const std::string_view key = info.name;
            const bool isOfLm = base_.workload == Workload::Lm && key == "kv_heads";
            if (!given_[row] || !(info.generation || isOfLm))
                continue;
            blamed_ = key;
            if (!anyGenerates)
                refuse(places_[row], fmt::format("{} is for mode generate, and no point has it", key),
                       "remove it or write mode: generate");
            if (key == "page" && !std::ranges::any_of(specs, isPaged))
                refuse(places_[row], "page is for cache paged, and no point has it",
                       "remove it or write cache: paged");
            blamed_.clear();
        }
    }

    /// Limits the number of runs, repeats included.
    void requireRunCount(const std::vector<ExperimentSpec>& specs)
    {
        std::int64_t runs = 0;
        for (const ExperimentSpec& spec : specs)
            runs += spec.repeat;
        if (runs <= kMaximumPoints)
            return;
        blamed_ = "repeat";
        refuse(places_[rowOf("repeat")], fmt::format("the sweep would take {} runs", runs),
               fmt::format("at most {}: repeat less, or split the sweep", kMaximumPoints));
    }

    /// The file's name without folder and extension, cut to the allowed length; the workload if there is no
    /// file (`<stdin>`).
    std::string defaultName() const
    {
        std::string_view stem = document_.origin;
        if (stem.starts_with('<'))
            stem = {};
        stem.remove_prefix(stem.find_last_of("/\\:") + 1);
        if (const std::size_t dot = stem.rfind('.'); dot != std::string_view::npos && dot > 0)
            stem = stem.substr(0, dot);
        const std::string name = madePrintable(stem, 80);
        return name.empty() || name == "." || name == ".." ? std::string(wordOf(base_.workload)) : name;
    }

    const SpecDocument& document_;
    const DevicePolicy policy_;
    ExperimentSpec base_;
    GivenKeys given_;
    std::array<Place, GivenKeys{}.size()> places_{};
    std::vector<Settings> axes_;
    std::unordered_map<std::string, Position> seenPoints_;
    std::string blamed_;
};

} // namespace

std::vector<ExperimentSpec> expand(const SpecDocument& document, DevicePolicy policy)
{
    return Expansion(document, policy).run();
}

std::vector<SpecProblem> problemsOf(const SpecDocument& document)
{
    std::vector<SpecProblem> problems = Expansion(document).valueProblems();
    if (!problems.empty())
        return problems;
    Expansion whole(document);
    try {
        whole.run();
    } catch (const Error& error) {
        problems.push_back(Expansion::problemOf(error, whole.blamed()));
    }
    return problems;
}

} // namespace tilescope::config

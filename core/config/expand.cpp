#include "core/base/error.h"
#include "core/config/rules.h"
#include "core/config/utf8.h"
#include "core/config/value.h"
#include "core/config/wording.h"
#include "core/config/yaml_tree.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilescope::config {

void requirePointCount(const SpecDocument& document);

namespace {

/// Where a value was written.
struct Place {
    Position position;
    const std::string* flag = nullptr; ///< of the command line
};

/// A value that has been judged, ready to be put into specs.
struct Setting {
    std::size_t row = 0;
    Value value;
    Place place;
};

/// One axis of the sweep, its values judged.
using Settings = std::vector<Setting>;

class Expansion {
public:
    explicit Expansion(const SpecDocument& document) : document_(document) {}

    std::vector<ExperimentSpec> run()
    {
        requirePointCount(document_);
        readWorkload();
        for (const SpecDocument::Entry& entry : document_.fixed)
            apply(base_, judged(entry));
        for (const SpecDocument::Axis& axis : document_.axes)
            axes_.push_back(judged(axis));
        if (base_.name.empty())
            base_.name = defaultName();

        std::vector<ExperimentSpec> specs;
        specs.reserve(static_cast<std::size_t>(document_.pointCount()));
        if (document_.points.empty())
            expandAxes(base_, specs);
        for (const SpecDocument::Point& point : document_.points) {
            const auto [given, places] = std::pair(given_, places_);
            ExperimentSpec spec = base_;
            for (const SpecDocument::Entry& entry : point)
                apply(spec, judged(entry, true));
            expandAxes(spec, specs);
            given_ = given;
            places_ = places;
        }
        requireUsedTiles(specs);
        return specs;
    }

private:
    std::string placeText(const Place& place) const
    {
        if (place.flag && !place.flag->empty())
            return *place.flag;
        return placeOf(document_.origin, place.position);
    }

    [[noreturn]] void refuse(const Place& place, std::string what, std::string mend) const
    {
        throw Error{.what = std::move(what), .where = placeText(place), .mend = std::move(mend)};
    }

    /// The workload decides which keys there are, so it is read before all others.
    void readWorkload()
    {
        const KeyInfo& info = keyRows()[rowOf("workload")].info;
        const auto found = std::ranges::find(document_.fixed, info.name, &SpecDocument::Entry::key);
        if (found == document_.fixed.end()) {
            for (const SpecDocument::Entry& entry : document_.fixed)
                requireKnown(entry.key, {entry.position, &entry.flag},
                             !entry.underFixed && entry.flag.empty());
            for (const SpecDocument::Axis& axis : document_.axes)
                requireKnown(axis.key, {axis.position, &axis.flag}, false);
            refuse({}, "the key 'workload' is missing", "write workload: " + joined(info.choices));
        }
        apply(base_, judged(*found));
    }

    std::vector<std::string> allowedKeys(bool topLevel) const
    {
        std::vector<std::string> names;
        for (const KeyRow& row : keyRows())
            if (row.info.appliesTo(base_.workload))
                names.emplace_back(row.info.name);
        if (topLevel)
            names.insert(names.end(), {"fixed", "sweep"});
        return names;
    }

    const KeyInfo& requireKnown(const std::string& key, const Place& place, bool topLevel) const
    {
        // On the command line set() has made the name canonical; in a file only the one spelling counts.
        const auto found =
            std::ranges::find_if(keyRows(), [&](const KeyRow& row) { return row.info.name == key; });
        if (found == keyRows().end()) {
            const std::vector<std::string> allowed = allowedKeys(topLevel);
            refuse(place, "unknown key " + shown(key),
                   question(key, allowed) + "allowed here: " + joined(allowed));
        }
        return found->info;
    }

    std::size_t rowFor(const std::string& key, const Place& place, bool topLevel) const
    {
        const KeyInfo& info = requireKnown(key, place, topLevel);
        if (!info.appliesTo(base_.workload))
            refuse(place,
                   fmt::format("the key '{}' is not for workload {}", info.name, wordOf(base_.workload)),
                   "remove it; allowed here: " + joined(allowedKeys(topLevel)));
        return rowOf(info.name);
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

    Setting judged(const SpecDocument::Entry& entry, bool inPoint = false) const
    {
        const Place keyPlace{entry.position, &entry.flag};
        const std::size_t row =
            rowFor(entry.key, keyPlace, !entry.underFixed && !inPoint && entry.flag.empty());
        if (inPoint)
            requireSweepable(row, keyPlace);
        return judged(row, entry.value, {entry.value.position, &entry.flag});
    }

    Settings judged(const SpecDocument::Axis& axis) const
    {
        const Place keyPlace{axis.position, &axis.flag};
        const std::size_t row = rowFor(axis.key, keyPlace, false);
        requireSweepable(row, keyPlace);
        Settings settings;
        for (const SpecValue& written : axis.values) {
            settings.push_back(judged(row, written, {written.position, &axis.flag}));
            const auto same = std::ranges::find(settings, settings.back().value, &Setting::value);
            if (same != settings.end() - 1)
                refuse(settings.back().place,
                       fmt::format("{} has the value {} twice", axis.key, jsonText(same->value)),
                       "remove one");
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

    /// Turns the axes like an odometer, the last fastest.
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

    void requireRules(const ExperimentSpec& spec) const
    {
        const std::optional<BrokenRule> broken = brokenRule(spec);
        if (!broken)
            return;
        for (const std::string_view key : broken->keys)
            if (const std::size_t row = rowOf(key); given_[row])
                refuse(places_[row], broken->what, broken->mend);
        refuse({}, broken->what, broken->mend);
    }

    /// Tiles that no point uses are a slip; in a sweep over backends they are not.
    void requireUsedTiles(const std::vector<ExperimentSpec>& specs) const
    {
        for (const std::string_view key : {"tile_q", "tile_k"}) {
            const std::size_t row = rowOf(key);
            if (places_[row].position == Position{} && !places_[row].flag)
                continue;
            if (std::ranges::none_of(
                    specs, [](const ExperimentSpec& spec) { return spec.backend == Backend::FlashTorch; }))
                refuse(places_[row], fmt::format("{} is for backend flash-torch, and no point has it", key),
                       "remove it or write backend: flash-torch");
        }
    }

    /// The file's name without its folder and ending, as far as a name may be.
    std::string defaultName() const
    {
        std::string_view stem = document_.origin;
        stem.remove_prefix(stem.find_last_of("/\\:") + 1);
        if (const std::size_t dot = stem.rfind('.'); dot != std::string_view::npos && dot > 0)
            stem = stem.substr(0, dot);
        const std::string name = madePrintable(stem, 80);
        return name.empty() || name == "." || name == ".." ? std::string(wordOf(base_.workload)) : name;
    }

    const SpecDocument& document_;
    ExperimentSpec base_;
    GivenKeys given_;
    std::array<Place, 64> places_{};
    std::vector<Settings> axes_;
};

} // namespace

std::vector<ExperimentSpec> expand(const SpecDocument& document)
{
    return Expansion(document).run();
}

} // namespace tilescope::config

#include "core/config/study.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"
#include "core/config/quick.h"
#include "core/config/schema.h"
#include "core/config/utf8.h"
#include "core/config/yaml_tree.h"
#include "core/model/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::config {

namespace {

constexpr std::string_view kSeparator = "---";
constexpr std::string_view kAllStudies = "all";

/// The names of the YAML files in a folder of the resources; `NAME.report.yaml` is part of NAME.
std::vector<std::string> namesIn(const char* folder)
{
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(resourcesDirectory() / folder, none))
        if (entry.path().extension() == ".yaml" && !entry.path().stem().has_extension())
            names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
}

/// Splits a file into its documents. Each is padded with empty lines so that positions in messages refer to
/// the file.
std::vector<std::string> documentsOf(std::string_view text)
{
    std::vector<std::string> documents(1);
    std::string skipped;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        skipped += '\n';
        if (line == kSeparator)
            documents.emplace_back(skipped);
        else
            documents.back().append(line).append("\n");
    }
    return documents;
}

class StudyReader {
public:
    StudyReader(std::string_view origin, Edition edition, const Overrides& overrides)
        : origin_(origin), edition_(edition), overrides_(overrides)
    {
    }

    Study read(std::string_view text, std::string_view name)
    {
        const std::vector<std::string> documents = documentsOf(text);
        Study study;
        readHeader(documents.front(), study);
        if (study.name != name)
            refuse("the study is named '" + study.name + "'", origin_, "use the file's name");
        if (study.title.empty() || study.asks.empty() || documents.size() < 2)
            refuse("a study has a title, a question and a part", origin_, "write title:, asks: and a spec");
        for (std::size_t i = 1; i < documents.size(); ++i)
            study.parts.push_back(readPart(documents[i], study));
        for (const auto& [part, description] : described_)
            refuse("there is no part '" + part + "'", origin_, "name the parts that follow");
        requireUsedOverrides();
        return study;
    }

private:
    [[noreturn]] static void refuse(std::string what, std::string where, std::string remedy)
    {
        throw Error{.what = std::move(what),
                    .where = std::move(where),
                    .remedy = std::move(remedy),
                    .kind = ErrorKind::Environment};
    }

    std::string place(const SpecValue::Entry& entry) const { return placeOf(origin_, entry.position); }

    [[noreturn]] void refuseKey(const SpecValue::Entry& entry, std::string_view allowed) const
    {
        refuse("unknown key '" + entry.key + "'", place(entry), "allowed here: " + std::string(allowed));
    }

    void readHeader(const std::string& text, Study& study)
    {
        const SpecValue root = readYaml(text, origin_);
        if (root.kind != SpecValue::Kind::Map)
            refuse("not a study", origin_, "begin it with study:, title: and asks:");
        for (const SpecValue::Entry& entry : root.entries()) {
            if (entry.key == "study")
                study.name = entry.value.text;
            else if (entry.key == "title")
                study.title = entry.value.text;
            else if (entry.key == "asks")
                study.asks = entry.value.text;
            else if (entry.key == "took")
                for (const SpecValue::Entry& took : entry.value.entries())
                    study.took.emplace_back(took.key, seconds(took));
            else if (entry.key == "parts")
                readDescriptions(entry.value);
            else
                refuseKey(entry, "study, title, asks, took, parts");
        }
    }

    double seconds(const SpecValue::Entry& entry) const
    {
        const auto value = parseNumber<double>(entry.value.text);
        if (!value || !(*value > 0))
            refuse("'" + entry.key + "' is not a number of seconds", place(entry), "write a number above 0");
        return *value;
    }

    void readDescriptions(const SpecValue& parts)
    {
        for (const SpecValue::Entry& part : parts.entries()) {
            StudyPart description{.name = part.key};
            for (const SpecValue::Entry& entry : part.value.entries()) {
                if (entry.key == "about")
                    description.about = entry.value.text;
                else if (entry.key == "quick")
                    for (const SpecValue::Entry& setting : entry.value.entries())
                        description.quick.emplace_back(setting.key, toYaml(setting.value));
                else
                    refuseKey(entry, "about, quick");
            }
            described_.emplace(part.key, std::move(description));
        }
    }

    static void replaceSweep(SpecDocument& document, const std::string& yaml)
    {
        SpecDocument quick = parseDocument("sweep: " + yaml, "quick sweep");
        document.axes = std::move(quick.axes);
        document.points = std::move(quick.points);
    }

    StudyPart readPart(const std::string& text, const Study& study)
    {
        SpecDocument document = parseDocument(text, origin_);
        const SpecDocument::Entry* name = document.findFixed("name");
        const SpecDocument::Entry* workload = document.findFixed("workload");
        if (!name || !workload)
            refuse("a part lacks its name or its workload", origin_,
                   "write name: and workload: at top level");
        StudyPart part;
        if (const auto found = described_.find(name->value.text); found != described_.end()) {
            part = std::move(found->second);
            described_.erase(found);
        }
        part.name = name->value.text;
        part.workload = fromWord<Workload>(workload->value.text).value_or(Workload::Attention);
        document.set("name", study.name + ": " + part.name);
        Overrides chosen;
        if (edition_ == Edition::Quick)
            chosen = part.quick;
        for (const auto& [key, value] : chosen)
            if (key == "sweep")
                replaceSweep(document, value);
            else
                document.set(key, value, "quick " + key);
        for (const auto& [key, value] : overrides_)
            if (const KeyInfo* info = findKey(key); info && info->appliesTo(part.workload)) {
                document.set(key, value, "--set " + key);
                chosen.emplace_back(info->name, value);
                used_.insert(key);
            }
        // A study is for all devices: points that a device cannot run are skipped.
        part.specs = expand(document, DevicePolicy::Skip);
        part.yaml = toYaml(document);
        if (edition_ == Edition::Quick)
            part.specs = quickEdition(std::move(part.specs), chosen);
        return part;
    }

    void requireUsedOverrides() const
    {
        for (const auto& [key, value] : overrides_)
            if (!used_.contains(key))
                throw Error{.what = "no part of the study has the key '" + key + "'",
                            .where = "--set " + key,
                            .remedy = "see its keys with tilescope --batch study:NAME --dry-run"};
    }

    std::string origin_;
    Edition edition_;
    const Overrides& overrides_;
    std::map<std::string, StudyPart> described_; ///< from the header; moved into the parts
    std::set<std::string> used_;
};

class HandoutReader {
public:
    explicit HandoutReader(std::string origin) : origin_(std::move(origin)) {}

    Handout read(std::string_view text, std::string_view name) const
    {
        const SpecValue root = readYaml(text, origin_);
        Handout handout;
        for (const SpecValue::Entry& entry : entriesOf(root)) {
            if (entry.key == "handout")
                handout.name = entry.value.text;
            else if (entry.key == "title")
                handout.title = entry.value.text;
            else if (entry.key == "studies")
                for (const SpecValue& study : entry.value.items)
                    handout.entries.push_back(readEntry(study));
            else
                refuse("unknown key '" + entry.key + "'", entry.position);
        }
        if (handout.name != name || handout.title.empty() || handout.entries.empty())
            refuse("the handout lacks its name, its title or its studies", root.position);
        return handout;
    }

private:
    [[noreturn]] void refuse(std::string what, Position position) const
    {
        throw Error{.what = std::move(what),
                    .where = placeOf(origin_, position),
                    .remedy = "a handout has handout:, title: and studies: with study: and set:",
                    .kind = ErrorKind::Environment};
    }

    std::vector<SpecValue::Entry> entriesOf(const SpecValue& map) const
    {
        if (map.kind != SpecValue::Kind::Map)
            refuse("expected a map here", map.position);
        return map.entries();
    }

    Handout::Entry readEntry(const SpecValue& node) const
    {
        Handout::Entry entry;
        for (const SpecValue::Entry& key : entriesOf(node)) {
            if (key.key == "study")
                entry.study = key.value.text;
            else if (key.key == "set")
                for (const SpecValue::Entry& setting : entriesOf(key.value))
                    entry.overrides.emplace_back(setting.key, toYaml(setting.value));
            else
                refuse("unknown key '" + key.key + "'", key.position);
        }
        if (entry.study.empty())
            refuse("an entry names no study", node.position);
        return entry;
    }

    std::string origin_;
};

} // namespace

std::size_t Study::points() const
{
    std::size_t sum = 0;
    for (const StudyPart& part : parts)
        sum += part.specs.size();
    return sum;
}

std::vector<std::string> studyNames()
{
    return namesIn("studies");
}

std::vector<std::string> handoutNames()
{
    return namesIn("handouts");
}

Handout loadHandout(std::string_view name)
{
    const std::vector<std::string> names = handoutNames();
    if (std::ranges::find(names, name) == names.end())
        throw Error{.what = "unknown handout '" + madePrintable(name, 80) + "'",
                    .remedy = didYouMean(name, std::vector<std::string_view>(names.begin(), names.end()))};
    const std::filesystem::path file = resourcesDirectory() / "handouts" / (std::string(name) + ".yaml");
    return HandoutReader(file.string()).read(installedText(file), name);
}

std::vector<Study> loadStudies(const std::string& name, Edition edition, const Overrides& overrides)
{
    std::vector<Study> studies;
    const std::vector<std::string> handouts = handoutNames();
    if (std::ranges::find(handouts, name) != handouts.end()) {
        for (const Handout::Entry& entry : loadHandout(name).entries) {
            Overrides all = edition == Edition::Full ? entry.overrides : Overrides{};
            all.insert(all.end(), overrides.begin(), overrides.end());
            studies.push_back(loadStudy(entry.study, edition, all));
        }
        return studies;
    }
    for (const std::string& study : name == kAllStudies ? studyNames() : std::vector{name})
        studies.push_back(loadStudy(study, edition, overrides));
    return studies;
}

Study loadStudy(std::string_view name, Edition edition, const Overrides& overrides)
{
    const std::vector<std::string> names = studyNames();
    if (std::ranges::find(names, name) == names.end())
        throw Error{.what = "unknown study '" + madePrintable(name, 80) + "'",
                    .where = "study:" + madePrintable(name, 80),
                    .remedy = didYouMean(name, std::vector<std::string_view>(names.begin(), names.end()))};
    const std::filesystem::path file = resourcesDirectory() / "studies" / (std::string(name) + ".yaml");
    return parseStudy(installedText(file), file.string(), name, edition, overrides);
}

Study parseStudy(std::string_view yaml, std::string_view origin, std::string_view name, Edition edition,
                 const Overrides& overrides)
{
    return StudyReader(origin, edition, overrides).read(yaml, name);
}

} // namespace tilescope::config

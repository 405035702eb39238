#include "ui/timeline/lane_arrangement.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>

#include <algorithm>

namespace tilescope::ui {

using query::Lane;

namespace {

constexpr qsizetype kMostFiles = 200;
constexpr std::size_t kMostLanes = 4096;
constexpr const char* kFilesKey = "timeline/arranged";

QString hashOf(const QString& file)
{
    const QByteArray path = QFileInfo(file).absoluteFilePath().toUtf8();
    return QString::fromLatin1(QCryptographicHash::hash(path, QCryptographicHash::Sha1).toHex());
}

QString keyOf(const QString& hash)
{
    return QStringLiteral("timeline/lanes/") + hash;
}

// "main 412" is main in every run.
std::string withoutNumber(const std::string& title)
{
    const std::size_t end = title.find_last_not_of("0123456789");
    return end == std::string::npos ? title : title.substr(0, end + 1);
}

std::string wordOf(const Lane& lane)
{
    switch (lane.kind) {
    case Lane::Kind::Ranges:
        return "ranges " + withoutNumber(lane.detail);
    case Lane::Kind::Frames:
        return (lane.isOfPauses ? "pauses " : "stacks ") + withoutNumber(lane.detail);
    case Lane::Kind::Thread:
        return "thread " + withoutNumber(lane.title);
    case Lane::Kind::Stream:
    case Lane::Kind::Busy:
        return lane.title;
    case Lane::Kind::Memory:
        return "memory " + lane.detail;
    case Lane::Kind::Counter:
        return "counter " + lane.title;
    }
    return {};
}

} // namespace

std::string laneKey(const query::Timeline& timeline, std::size_t lane)
{
    std::string word = wordOf(timeline.lanes[lane]);
    int before = 0;
    for (std::size_t i = 0; i < lane; ++i)
        before += wordOf(timeline.lanes[i]) == word ? 1 : 0;
    return before == 0 ? word : word + "#" + std::to_string(before + 1);
}

namespace {

// Index into the section's lanes of the lane with that key.
std::optional<std::size_t> viewOf(const TimelineSection& section, const std::string& key)
{
    for (std::size_t v = 0; v < section.lanes.size(); ++v)
        if (laneKey(*section.timeline, section.lanes[v].lane) == key)
            return v;
    return {};
}

} // namespace

void changeLane(std::vector<TimelineSection>& sections, LanePlace place,
                const std::function<void(LaneView&)>& change)
{
    const TimelineSection& own = sections.at(place.section);
    const std::string key = laneKey(*own.timeline, own.lanes.at(place.view).lane);
    for (TimelineSection& section : sections)
        if (const auto view = viewOf(section, key))
            change(section.lanes[*view]);
}

bool moveLane(std::vector<TimelineSection>& sections, LanePlace place, std::size_t to)
{
    const TimelineSection& own = sections.at(place.section);
    if (to >= own.lanes.size() || to == place.view)
        return false;
    const std::string key = laneKey(*own.timeline, own.lanes.at(place.view).lane);
    const std::string target = laneKey(*own.timeline, own.lanes[to].lane);
    const bool down = to > place.view;
    for (TimelineSection& section : sections) {
        const auto from = viewOf(section, key);
        const auto at = viewOf(section, target);
        if (!from || !at)
            continue;
        const LaneView moved = section.lanes[*from];
        section.lanes.erase(section.lanes.begin() + std::ptrdiff_t(*from));
        // Erasing a lane above the target has moved the target up; a lane that moves down goes below it.
        const std::size_t behind = (*from < *at ? *at - 1 : *at) + (down ? 1 : 0);
        section.lanes.insert(section.lanes.begin() + std::ptrdiff_t(behind), moved);
    }
    return true;
}

LaneArrangement arrangementOf(const TimelineSection& section)
{
    LaneArrangement arrangement;
    for (const LaneView& view : section.lanes)
        arrangement.lanes.push_back(
            {laneKey(*section.timeline, view.lane), view.folded, view.hidden, view.tall, view.pinned});
    return arrangement;
}

void arrange(TimelineSection& section, const LaneArrangement& arrangement)
{
    if (arrangement.lanes.empty())
        return;
    std::vector<LaneView> byNature = section.lanes;
    std::sort(byNature.begin(), byNature.end(),
              [](const LaneView& a, const LaneView& b) { return a.lane < b.lane; });
    std::vector<std::string> keys;
    for (const LaneView& view : byNature)
        keys.push_back(laneKey(*section.timeline, view.lane));
    std::vector<LaneView> result;
    std::vector<bool> placed(byNature.size());
    for (const LaneArrangement::Entry& entry : arrangement.lanes) {
        const auto at = std::size_t(std::find(keys.begin(), keys.end(), entry.key) - keys.begin());
        if (at == keys.size() || placed[at])
            continue;
        placed[at] = true;
        result.push_back({byNature[at].lane, entry.folded, entry.hidden,
                          std::clamp(entry.tall, LaneView::kLowest, LaneView::kTallest), entry.pinned});
    }
    for (std::size_t i = 0; i < byNature.size(); ++i) {
        if (placed[i])
            continue;
        const auto above = std::find_if(result.begin(), result.end(), [&](const LaneView& view) {
            return i > 0 && view.lane == byNature[i - 1].lane;
        });
        result.insert(above == result.end() ? (i == 0 ? result.begin() : result.end()) : above + 1,
                      byNature[i]);
    }
    section.lanes = std::move(result);
}

LaneArrangement LaneArrangement::read(const QString& file)
{
    const QSettings settings;
    const QByteArray text = settings.value(keyOf(hashOf(file))).toByteArray();
    LaneArrangement arrangement;
    for (const auto& value : QJsonDocument::fromJson(text).array()) {
        const QJsonObject lane = value.toObject();
        const std::string key = lane[QLatin1String("lane")].toString().toStdString();
        if (key.empty() || arrangement.lanes.size() == kMostLanes)
            continue;
        arrangement.lanes.push_back(
            {key, lane[QLatin1String("folded")].toBool(), lane[QLatin1String("hidden")].toBool(),
             lane[QLatin1String("tall")].toDouble(1), lane[QLatin1String("pinned")].toBool()});
    }
    return arrangement;
}

void LaneArrangement::write(const QString& file) const
{
    QJsonArray array;
    for (const Entry& entry : lanes)
        array.append(QJsonObject{{QStringLiteral("lane"), QString::fromStdString(entry.key)},
                                 {QStringLiteral("folded"), entry.folded},
                                 {QStringLiteral("hidden"), entry.hidden},
                                 {QStringLiteral("tall"), entry.tall},
                                 {QStringLiteral("pinned"), entry.pinned}});
    QSettings settings;
    const QString hash = hashOf(file);
    QStringList files = settings.value(QLatin1String(kFilesKey)).toStringList();
    files.removeAll(hash);
    files.prepend(hash);
    while (files.size() > kMostFiles)
        settings.remove(keyOf(files.takeLast()));
    settings.setValue(QLatin1String(kFilesKey), files);
    settings.setValue(keyOf(hash), QJsonDocument(array).toJson(QJsonDocument::Compact));
}

} // namespace tilescope::ui

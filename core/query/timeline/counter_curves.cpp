#include "core/query/timeline/counter_curves.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/query/runs/counter_table.h"

#include <map>
#include <string_view>
#include <tuple>

namespace tilescope::query {

std::vector<CounterCurve> curvesOf(std::span<const CounterTrack> tracks)
{
    std::vector<CounterCurve> curves;
    std::map<std::tuple<DeviceIndex, ProcessIndex, std::string_view, std::string_view>, std::size_t> places;
    for (const CounterTrack& track : tracks) {
        const auto [place, isNew] =
            places.try_emplace({track.device, track.process, track.name, track.unit}, curves.size());
        if (isNew || (!track.points.empty() && track.points.front().time < curves[place->second].end)) {
            place->second = curves.size();
            curves.push_back({.about = &track, .end = track.end});
        } else if (!track.points.empty() && track.points.front().time > curves[place->second].end) {
            curves[place->second].holes.emplace_back(curves[place->second].end, track.points.front().time);
        }
        CounterCurve& curve = curves[place->second];
        curve.parts.push_back(&track);
        curve.end = track.end;
    }
    return curves;
}

std::string meanText(const CounterCurve& curve)
{
    double sum = 0;
    double length = 0;
    for (const CounterTrack* const part : curve.parts) {
        const auto figures = analysis::figuresOf(*part);
        if (!figures)
            continue;
        const auto weight = static_cast<double>((part->end - part->points.front().time).count());
        sum += figures->mean * weight;
        length += weight;
    }
    return length > 0 ? counterText(sum / length, curve.about->unit) : std::string();
}

} // namespace tilescope::query

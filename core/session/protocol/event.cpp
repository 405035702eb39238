#include "core/session/protocol/event.h"

#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/model/run_status.h"
#include "core/model/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace tilescope::session {

namespace {

using Json = nlohmann::ordered_json;

template <class Value> Json orNull(const std::optional<Value>& value)
{
    return value ? Json(*value) : Json(nullptr);
}

Json toJson(const HelloEvent& e)
{
    Json hello{{"event", "hello"}, {"v", e.version},    {"program", e.program}, {"version", e.programVersion},
               {"file", e.file},   {"points", e.points}};
    for (const auto& [device, maker] : e.makers)
        hello["makers"][device] = {{"torch", maker.torch}, {"processor", maker.processor}};
    return hello;
}

Json toJson(const PointEvent& e)
{
    Json params = Json::parse(e.paramsJson, nullptr, false);
    return {{"event", "point"},
            {"index", e.index},
            {"of", e.of},
            {"run", e.run},
            {"params", params.is_object() ? std::move(params) : Json::object()}};
}

Json toJson(const StateEvent& e)
{
    return {{"event", "state"}, {"run", e.run}, {"state", e.state}};
}

Json toJson(const SampleEvent& e)
{
    return {{"event", "sample"}, {"run", e.run}, {"step", e.step}, {"wall_ns", e.wallNs}};
}

Json toJson(const MemoryEvent& e)
{
    return {{"event", "memory"},
            {"run", e.run},
            {"step", e.step},
            {"allocated", e.allocated},
            {"reserved", orNull(e.reserved)},
            {"peak_allocated", orNull(e.peak)}};
}

Json toJson(const ResultEvent& e)
{
    return {{"event", "result"},
            {"run", e.run},
            {"status", e.status},
            {"reason", e.reason},
            {"step_ms", orNull(e.stepMs)},
            {"step_ci95_ms", orNull(e.stepInterval)},
            {"steps", e.steps},
            {"peak_allocated", orNull(e.peak)},
            {"records", e.records},
            {"flags", e.flags}};
}

Json toJson(const LossEvent& e)
{
    return {
        {"event", "loss"}, {"run", e.run}, {"kind", e.kind}, {"severity", e.severity}, {"count", e.count}};
}

Json toJson(const CeilingsEvent& e)
{
    return {{"event", "ceilings"}, {"device", e.device}, {"figures", e.figures}};
}

Json toJson(const ReplayEvent& e)
{
    const ReplayResult& r = e.result;
    return {{"event", "replay"},        {"device", r.device}, {"device_name", r.deviceName},
            {"signature", r.signature}, {"calls", r.calls},   {"graphed", r.isGraphed},
            {"samples_ns", r.samplesNs}};
}

Json toJson(const LogEvent& e)
{
    return {{"event", "log"}, {"level", e.level}, {"text", e.text}};
}

Json toJson(const FatalEvent& e)
{
    return {{"event", "fatal"}, {"kind", e.kind}, {"what", e.what}, {"where", e.where}, {"remedy", e.remedy}};
}

Json toJson(const DoneEvent& e)
{
    return {{"event", "done"},      {"ok", e.ok},       {"oom", e.oom},
            {"skipped", e.skipped}, {"error", e.error}, {"cancelled", e.cancelled},
            {"seconds", e.seconds}};
}

/// Reads the fields of one event. Missing fields and fields of another type keep their defaults.
class Fields {
public:
    explicit Fields(const Json& object) : object_(object) {}

    Fields& read(const char* key, std::string& into)
    {
        if (const Json* value = find(key); value && value->is_string())
            into = value->get<std::string>();
        return *this;
    }
    Fields& read(const char* key, std::int64_t& into)
    {
        if (const Json* value = find(key); value && value->is_number_integer())
            into = value->get<std::int64_t>();
        return *this;
    }
    Fields& read(const char* key, double& into)
    {
        if (const Json* value = find(key); value && value->is_number())
            into = value->get<double>();
        return *this;
    }
    Fields& read(const char* key, std::optional<std::array<double, 2>>& into)
    {
        const Json* value = find(key);
        if (value && value->is_array() && value->size() == 2 && (*value)[0].is_number() &&
            (*value)[1].is_number())
            into = std::array{(*value)[0].get<double>(), (*value)[1].get<double>()};
        return *this;
    }
    template <class Value> Fields& read(const char* key, std::optional<Value>& into)
    {
        const Json* value = find(key);
        if (value && value->is_number())
            into = value->get<Value>();
        return *this;
    }

private:
    const Json* find(const char* key) const
    {
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    const Json& object_;
};

PointEvent readPoint(const Json& object)
{
    PointEvent e;
    Fields(object).read("index", e.index).read("of", e.of).read("run", e.run);
    const auto params = object.find("params");
    e.paramsJson = params != object.end() && params->is_object() ? params->dump() : "{}";
    return e;
}

HelloEvent readHello(const Json& object)
{
    HelloEvent e;
    std::int64_t protocol = 0;
    Fields(object)
        .read("v", protocol)
        .read("program", e.program)
        .read("version", e.programVersion)
        .read("file", e.file)
        .read("points", e.points);
    e.version = static_cast<int>(protocol);
    if (const auto makers = object.find("makers"); makers != object.end() && makers->is_object())
        for (const auto& [device, maker] : makers->items())
            if (maker.is_object())
                Fields(maker)
                    .read("torch", e.makers[device].torch)
                    .read("processor", e.makers[device].processor);
    return e;
}

ResultEvent readResult(const Json& object)
{
    ResultEvent e;
    Fields(object)
        .read("run", e.run)
        .read("status", e.status)
        .read("reason", e.reason)
        .read("step_ms", e.stepMs)
        .read("step_ci95_ms", e.stepInterval)
        .read("steps", e.steps)
        .read("peak_allocated", e.peak)
        .read("records", e.records);
    if (const auto flags = object.find("flags"); flags != object.end() && flags->is_array())
        for (const Json& flag : *flags)
            if (flag.is_string())
                e.flags.push_back(flag.get<std::string>());
    return e;
}

ReplayEvent readReplay(const Json& object)
{
    ReplayEvent e;
    Fields(object)
        .read("device", e.result.device)
        .read("device_name", e.result.deviceName)
        .read("signature", e.result.signature)
        .read("calls", e.result.calls);
    if (const auto graphed = object.find("graphed"); graphed != object.end() && graphed->is_boolean())
        e.result.isGraphed = graphed->get<bool>();
    if (const auto samples = object.find("samples_ns"); samples != object.end() && samples->is_array())
        for (const Json& sample : *samples)
            if (sample.is_number())
                e.result.samplesNs.push_back(sample.get<double>());
    return e;
}

template <class E, class... Members>
E readAll(const Json& object, std::pair<const char*, Members E::*>... fields)
{
    E e;
    Fields reader(object);
    (reader.read(fields.first, e.*fields.second), ...);
    return e;
}

} // namespace

RunStatus ResultEvent::runStatus() const
{
    return fromWord<RunStatus>(status).value_or(RunStatus::Error);
}

void DoneEvent::add(RunStatus status)
{
    switch (status) {
    case RunStatus::Ok:
        ++ok;
        break;
    case RunStatus::Oom:
        ++oom;
        break;
    case RunStatus::Skipped:
        ++skipped;
        break;
    case RunStatus::Cancelled:
        ++cancelled;
        break;
    case RunStatus::Error:
    case RunStatus::Running:
    case RunStatus::Interrupted:
        ++error;
        break;
    }
}

std::string DoneEvent::text() const
{
    const std::pair<std::int64_t, RunStatus> counts[] = {{ok, RunStatus::Ok},
                                                         {oom, RunStatus::Oom},
                                                         {skipped, RunStatus::Skipped},
                                                         {error, RunStatus::Error},
                                                         {cancelled, RunStatus::Cancelled}};
    std::string text;
    for (const auto& [count, status] : counts)
        if (count > 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, traitsOf(status).counted);
    return text;
}

std::string toJsonLine(const Event& event)
{
    // A reason may quote the standard error of a program, which need not be UTF-8.
    return escapeJsonForTerminal(std::visit([](const auto& e) { return toJson(e); }, event)
                                     .dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<Event> parseEvent(std::string_view line)
{
    const Json object = Json::parse(line, nullptr, false);
    const auto kind = object.is_object() ? object.find("event") : object.end();
    if (!object.is_object() || kind == object.end() || !kind->is_string())
        throw Error{.what = "this line is not an event: " + std::string(line.substr(0, 80)),
                    .kind = ErrorKind::Failure};
    const auto& name = kind->get_ref<const std::string&>();
    if (name == "hello")
        return readHello(object);
    if (name == "point")
        return readPoint(object);
    if (name == "state")
        return readAll<StateEvent>(object, std::pair("run", &StateEvent::run),
                                   std::pair("state", &StateEvent::state));
    if (name == "sample")
        return readAll<SampleEvent>(object, std::pair("run", &SampleEvent::run),
                                    std::pair("step", &SampleEvent::step),
                                    std::pair("wall_ns", &SampleEvent::wallNs));
    if (name == "memory")
        return readAll<MemoryEvent>(
            object, std::pair("run", &MemoryEvent::run), std::pair("step", &MemoryEvent::step),
            std::pair("allocated", &MemoryEvent::allocated), std::pair("reserved", &MemoryEvent::reserved),
            std::pair("peak_allocated", &MemoryEvent::peak));
    if (name == "result")
        return readResult(object);
    if (name == "loss")
        return readAll<LossEvent>(
            object, std::pair("run", &LossEvent::run), std::pair("kind", &LossEvent::kind),
            std::pair("severity", &LossEvent::severity), std::pair("count", &LossEvent::count));
    if (name == "ceilings")
        return readAll<CeilingsEvent>(object, std::pair("device", &CeilingsEvent::device),
                                      std::pair("figures", &CeilingsEvent::figures));
    if (name == "replay")
        return readReplay(object);
    if (name == "log")
        return readAll<LogEvent>(object, std::pair("level", &LogEvent::level),
                                 std::pair("text", &LogEvent::text));
    if (name == "fatal")
        return readAll<FatalEvent>(
            object, std::pair("kind", &FatalEvent::kind), std::pair("what", &FatalEvent::what),
            std::pair("where", &FatalEvent::where), std::pair("remedy", &FatalEvent::remedy));
    if (name == "done")
        return readAll<DoneEvent>(
            object, std::pair("ok", &DoneEvent::ok), std::pair("oom", &DoneEvent::oom),
            std::pair("skipped", &DoneEvent::skipped), std::pair("error", &DoneEvent::error),
            std::pair("cancelled", &DoneEvent::cancelled), std::pair("seconds", &DoneEvent::seconds));
    return {};
}

} // namespace tilescope::session

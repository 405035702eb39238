#include "core/session/protocol/event.h"

#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/model/run_status.h"
#include "core/model/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace tilescope::session {

namespace {

using Json = nlohmann::ordered_json;

/// The key of a text that is a JSON object.
struct ObjectKey {
    const char* key;
};

/// The name of an event, and the key and member of each field in the order of its line. ReplayEvent has those of its
/// result.
template <class E> constexpr auto kLayout = nullptr;
template <>
constexpr auto kLayout<HelloEvent> = std::tuple("hello", std::pair("v", &HelloEvent::version),
                                                std::pair("program", &HelloEvent::program),
                                                std::pair("version", &HelloEvent::programVersion),
                                                std::pair("file", &HelloEvent::file),
                                                std::pair("points", &HelloEvent::points),
                                                std::pair("makers", &HelloEvent::makers));
template <>
constexpr auto kLayout<PointEvent> = std::tuple("point", std::pair("index", &PointEvent::index),
                                                std::pair("of", &PointEvent::of),
                                                std::pair("run", &PointEvent::run),
                                                std::pair(ObjectKey{"params"}, &PointEvent::paramsJson));
template <>
constexpr auto kLayout<StateEvent> = std::tuple("state", std::pair("run", &StateEvent::run),
                                                std::pair("state", &StateEvent::state));
template <>
constexpr auto kLayout<SampleEvent> = std::tuple("sample", std::pair("run", &SampleEvent::run),
                                                 std::pair("step", &SampleEvent::step),
                                                 std::pair("wall_ns", &SampleEvent::wallNs));
template <>
constexpr auto kLayout<MemoryEvent> = std::tuple("memory", std::pair("run", &MemoryEvent::run),
                                                 std::pair("step", &MemoryEvent::step),
                                                 std::pair("allocated", &MemoryEvent::allocated),
                                                 std::pair("reserved", &MemoryEvent::reserved),
                                                 std::pair("peak_allocated", &MemoryEvent::peak));
template <>
constexpr auto kLayout<ResultEvent> =
    std::tuple("result", std::pair("run", &ResultEvent::run), std::pair("status", &ResultEvent::status),
               std::pair("reason", &ResultEvent::reason), std::pair("step_ms", &ResultEvent::stepMs),
               std::pair("step_ci95_ms", &ResultEvent::stepInterval), std::pair("steps", &ResultEvent::steps),
               std::pair("peak_allocated", &ResultEvent::peak), std::pair("records", &ResultEvent::records),
               std::pair("flags", &ResultEvent::flags));
template <>
constexpr auto kLayout<LossEvent> = std::tuple("loss", std::pair("run", &LossEvent::run),
                                               std::pair("kind", &LossEvent::kind),
                                               std::pair("severity", &LossEvent::severity),
                                               std::pair("count", &LossEvent::count));
template <>
constexpr auto kLayout<CeilingsEvent> = std::tuple("ceilings", std::pair("device", &CeilingsEvent::device),
                                                   std::pair("figures", &CeilingsEvent::figures));
template <>
constexpr auto kLayout<ReplayEvent> = std::tuple("replay", std::pair("device", &ReplayResult::device),
                                                 std::pair("device_name", &ReplayResult::deviceName),
                                                 std::pair("signature", &ReplayResult::signature),
                                                 std::pair("calls", &ReplayResult::calls),
                                                 std::pair("graphed", &ReplayResult::isGraphed),
                                                 std::pair("samples_ns", &ReplayResult::samplesNs),
                                                 std::pair("waiting", &ReplayResult::waiting));
template <>
constexpr auto kLayout<LogEvent> = std::tuple("log", std::pair("level", &LogEvent::level),
                                              std::pair("text", &LogEvent::text));
template <>
constexpr auto kLayout<FatalEvent> = std::tuple("fatal", std::pair("kind", &FatalEvent::kind),
                                                std::pair("what", &FatalEvent::what),
                                                std::pair("where", &FatalEvent::where),
                                                std::pair("remedy", &FatalEvent::remedy));
template <>
constexpr auto kLayout<DoneEvent> = std::tuple("done", std::pair("ok", &DoneEvent::ok),
                                               std::pair("oom", &DoneEvent::oom),
                                               std::pair("skipped", &DoneEvent::skipped),
                                               std::pair("error", &DoneEvent::error),
                                               std::pair("cancelled", &DoneEvent::cancelled),
                                               std::pair("seconds", &DoneEvent::seconds));

/// Calls take(key, field) for each field of an event.
template <class E, class Take> void eachField(E& event, const Take& take)
{
    std::apply(
        [&](const char* /*name*/, const auto&... fields) {
            if constexpr (std::is_same_v<std::remove_const_t<E>, ReplayEvent>)
                (take(fields.first, event.result.*fields.second), ...);
            else
                (take(fields.first, event.*fields.second), ...);
        },
        kLayout<std::remove_const_t<E>>);
}

/// Adds fields to a line.
class Writer {
public:
    explicit Writer(Json& object) : object_(object) {}

    template <class Value> void operator()(const char* key, const Value& value) const
    {
        object_[key] = value;
    }
    template <class Value> void operator()(const char* key, const std::optional<Value>& value) const
    {
        object_[key] = value ? Json(*value) : Json(nullptr);
    }
    void operator()(const char* key, const Makers& makers) const
    {
        for (const auto& [device, maker] : makers)
            object_[key][device] = {{"torch", maker.torch}, {"processor", maker.processor}};
    }
    void operator()(ObjectKey key, const std::string& text) const
    {
        const Json object = Json::parse(text, nullptr, false);
        object_[key.key] = object.is_object() ? object : Json::object();
    }

private:
    Json& object_;
};

/// Reads the fields of a line. Missing fields and fields of another type keep their defaults.
class Reader {
public:
    explicit Reader(const Json& object) : object_(object) {}

    template <class Value> void operator()(const char* key, Value& into) const
    {
        if (const Json* value = find(key))
            take(*value, into);
    }
    void operator()(ObjectKey key, std::string& into) const
    {
        const Json* value = find(key.key);
        into = value && value->is_object() ? value->dump() : "{}";
    }

private:
    const Json* find(const char* key) const
    {
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }
    template <class Value> static bool take(const Json& value, Value& into)
    {
        const bool fits = std::is_same_v<Value, bool>       ? value.is_boolean()
                          : std::is_integral_v<Value>       ? value.is_number_integer()
                          : std::is_floating_point_v<Value> ? value.is_number()
                                                            : value.is_string();
        if (fits)
            into = value.get<Value>();
        return fits;
    }
    static bool take(const Json& value, std::array<double, 2>& into)
    {
        return value.is_array() && value.size() == 2 && take(value[0], into[0]) && take(value[1], into[1]);
    }
    template <class Value> static bool take(const Json& value, std::optional<Value>& into)
    {
        Value read{};
        if (take(value, read))
            into = read;
        return into.has_value();
    }
    template <class Value> static bool take(const Json& value, std::vector<Value>& into)
    {
        Value read{};
        if (value.is_array())
            for (const Json& each : value)
                if (take(each, read))
                    into.push_back(read);
        return value.is_array();
    }
    static bool take(const Json& value, Makers& into)
    {
        if (value.is_object())
            for (const auto& [device, maker] : value.items())
                if (maker.is_object()) {
                    const Reader fields(maker);
                    fields("torch", into[device].torch);
                    fields("processor", into[device].processor);
                }
        return value.is_object();
    }

    const Json& object_;
};

/// The event of one of the types from the I-th on that has this name.
template <std::size_t I = 0> std::optional<Event> eventNamed(const std::string& name, const Json& object)
{
    if constexpr (I < std::variant_size_v<Event>) {
        using E = std::variant_alternative_t<I, Event>;
        if (name != std::get<0>(kLayout<E>))
            return eventNamed<I + 1>(name, object);
        E event;
        eachField(event, Reader(object));
        return event;
    }
    return {};
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
    Json object;
    std::visit(
        [&]<class E>(const E& each) {
            object["event"] = std::get<0>(kLayout<E>);
            eachField(each, Writer(object));
        },
        event);
    // A reason may quote the standard error of a program, which need not be UTF-8.
    return escapeJsonForTerminal(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<Event> parseEvent(std::string_view line)
{
    const Json object = Json::parse(line, nullptr, false);
    const auto kind = object.is_object() ? object.find("event") : object.end();
    if (!object.is_object() || kind == object.end() || !kind->is_string())
        throw Error{.what = "this line is not an event: " + std::string(line.substr(0, 80)),
                    .kind = ErrorKind::Failure};
    return eventNamed(kind->get_ref<const std::string&>(), object);
}

} // namespace tilescope::session

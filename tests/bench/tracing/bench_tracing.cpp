// What tracing costs: bench_tracing host | device | steps | soak [--key value]…; the last line is one JSON
// object.
#include "tests/bench/tracing/bench_tracing.h"

#include "core/base/error.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>

using namespace tilescope;

namespace {

std::vector<std::string> split(const std::string& text)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

void set(bench::StepOptions& options, const std::string& assignment)
{
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos)
        throw Error{.what = "no value", .where = "--set " + assignment, .remedy = "write --set key=value"};
    options.keys[assignment.substr(0, equals)] = assignment.substr(equals + 1);
}

int run(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    bench::StepOptions options{.settings = {"kernels", "full"}};
    int steps = 5000;
    const std::map<std::string, std::function<void(const std::string&)>> flags = {
        {"--device", [&](const std::string& value) { options.device = value; }},
        {"--workload", [&](const std::string& value) { options.workload = value; }},
        {"--set", [&](const std::string& value) { set(options, value); }},
        {"--rounds", [&](const std::string& value) { options.rounds = std::stoi(value); }},
        {"--block", [&](const std::string& value) { options.block = std::stoi(value); }},
        {"--warmup", [&](const std::string& value) { options.warmup = std::stoi(value); }},
        {"--drift", [&](const std::string& value) { options.drift = std::stod(value); }},
        {"--settings", [&](const std::string& value) { options.settings = split(value); }},
        {"--steps", [&](const std::string& value) { steps = std::stoi(value); }}};
    for (int i = 2; i + 1 < argc; i += 2) {
        const auto flag = flags.find(argv[i]);
        if (flag == flags.end())
            throw Error{.what = "unknown argument", .where = argv[i]};
        flag->second(argv[i + 1]);
    }
    nlohmann::json result;
    if (what == "host")
        result = bench::hostCosts();
    else if (what == "steps")
        result = bench::stepCosts(options);
    else if (what == "device")
        result = bench::deviceCosts();
    else if (what == "soak")
        result = bench::soak(options, steps);
    else
        throw Error{.what = "usage: bench_tracing host|device|steps|soak [--key value]…"};
    std::puts(result.dump().c_str());
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        std::fprintf(stderr, "bench_tracing: %s\n", error.sentence().c_str());
        return error.exitCode();
    } catch (...) {
        std::fprintf(stderr, "bench_tracing: %s\n", currentExceptionSentence().c_str());
        return 3;
    }
}

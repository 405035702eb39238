// A plain parse of a Kineto trace: reads every event as the importer does and keeps nothing.

#include "core/base/error.h"
#include "core/exchange/import/kineto/json_splitter.h"
#include "core/exchange/import/kineto/kineto_event.h"

#include <cstdio>

int main(int argc, char** argv)
{
    using namespace tilescope;
    if (argc != 2) {
        std::fputs("usage: bench_parse_kineto FILE.json[.gz]\n", stderr);
        return 2;
    }
    try {
        exchange::InflatedFile file(argv[1]);
        exchange::KinetoEventParser parser;
        long long events = 0;
        const exchange::SplitResult split =
            exchange::JsonSplitter(file, argv[1]).run([&](exchange::JsonPiece&& piece) {
                if (piece.key.empty())
                    parser.parse(piece, [&events](const exchange::KinetoEvent&) { ++events; });
                return true;
            });
        std::printf("%lld events, %llu bytes\n", events, static_cast<unsigned long long>(split.bytes));
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.sentence().c_str());
        return error.exitCode();
    }
    return 0;
}

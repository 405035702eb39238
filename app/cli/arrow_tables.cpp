#include "app/cli/arrow_tables.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/machine/program_output.h"

#include <cstdlib>
#include <vector>

namespace tilescope::cli {

namespace {

namespace fs = std::filesystem;

/// The folder of the Python package: installed beside the other resources, or that of the source tree.
fs::path packageFolder()
{
    const fs::path resources = resourcesDirectory();
    fs::path installed = resources / "python";
    return fs::exists(installed) ? installed : fs::canonical(resources).parent_path() / "app/python";
}

/// Imports nothing from the current folder.
constexpr const char* kScript =
    "import sys; sys.path[:] = [sys.argv.pop(1)] + [path for path in sys.path if path]; "
    "from tilescope._arrow import main; sys.exit(main(sys.argv[1:]))";

std::string finalLine(const std::string& text)
{
    return text.substr(text.find_last_of('\n') + 1); // npos + 1 is 0
}

} // namespace

std::string writeArrow(const fs::path& folder, const fs::path& file, RunId run, bool withIdentity)
{
    const char* chosen = std::getenv("TILESCOPE_PYTHON"); // NOLINT(concurrency-mt-unsafe): nothing sets it
    const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
    std::vector<std::string> words{python,
                                   "-B",
                                   "-Wignore",
                                   "-c",
                                   kScript,
                                   packageFolder().string(),
                                   fs::absolute(file).string(),
                                   std::to_string(run.value),
                                   folder.string()};
    if (withIdentity)
        words.emplace_back("--with-identity");
    const machine::ProgramOutput output = machine::outputOf(std::move(words), {}, true);
    constexpr int kNoPyArrow = 4;
    if (output.code == -1 || output.code == kNoPyArrow)
        throw Error{.what = "Arrow files are written by PyArrow, and " +
                            (output.code == -1 ? "there is no such Python"
                                               : "this Python lacks it: " + finalLine(output.text)),
                    .where = python,
                    .remedy = "install it with: " + python +
                              " -m pip install pyarrow, or name a Python that has it in TILESCOPE_PYTHON",
                    .kind = ErrorKind::Environment};
    if (output.code != 0)
        throw Error{.what = "the Arrow files were not written: " + finalLine(output.text),
                    .where = file.string(),
                    .remedy = "check the folder and the space on its disk",
                    .kind = ErrorKind::Failure};
    return finalLine(output.text);
}

} // namespace tilescope::cli

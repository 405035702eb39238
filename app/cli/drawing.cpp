#include "app/cli/drawing.h"

#include "app/cli/window_program.h"
#include "core/base/output_file.h"

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

/// The form to embed in a document: the drawing, or its picture if that is smaller, as for a timeline with
/// thousands of boxes.
report::Drawings::Image imageOf(const fs::path& folder, const std::string& id)
{
    constexpr std::size_t kLargeDrawing = 400'000; // bytes
    std::string svg = drawnFile(folder / (id + ".svg"));
    if (svg.size() > kLargeDrawing)
        if (std::string png = drawnFile(folder / (id + ".png")); !png.empty() && png.size() < svg.size())
            return {"image/png", std::move(png)};
    return {"image/svg+xml", std::move(svg)};
}

} // namespace

report::Drawings drawFigures(report::Document& document, const fs::path& folder)
{
    report::Drawings drawings;
    for (report::Section& section : document.sections)
        for (report::Figure& figure : section.figures) {
            const fs::path recipe = folder / (figure.id + ".json");
            writeOutput(recipe, figure.recipe + "\n");
            std::vector<std::string> arguments{"--charts", recipe.string(), "-o", folder.string()};
            arguments.insert(arguments.end(), figure.files.begin(), figure.files.end());
            const auto ended = runWindowProgram(arguments);
            if (!ended) {
                drawings.whyNone = "charts need tilescope-gui, which is not installed here";
                return drawings;
            }
            if (ended->well) {
                drawings.images.emplace(figure.id, imageOf(folder, figure.id));
                figure.drawn = captionOf(folder, figure.id);
            } else
                drawings.whyNone = ended->problem;
        }
    return drawings;
}

} // namespace tilescope::cli

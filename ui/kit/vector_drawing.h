#pragma once

namespace tilescope::ui {

/// While one lives, widgets that are rendered draw shapes where they otherwise draw pixels that they keep:
/// what goes into a PDF or an SVG. GUI thread.
class VectorDrawing {
public:
    VectorDrawing() { ++depth(); }
    ~VectorDrawing() { --depth(); }
    VectorDrawing(const VectorDrawing&) = delete;
    VectorDrawing& operator=(const VectorDrawing&) = delete;

    static bool isOn() { return depth() > 0; }

private:
    static int& depth()
    {
        static int depth = 0;
        return depth;
    }
};

} // namespace tilescope::ui

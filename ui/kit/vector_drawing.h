#pragma once

namespace tilescope::ui {

/// While an instance exists, widgets render vector shapes instead of cached pixels, for PDF and SVG. GUI
/// thread.
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

// The functions that libtilescope_record.so exports. The CUDA driver calls the first while it initialises
// (CUDA_INJECTION64_PATH), NVTX the second at the first NVTX call of each image (NVTX_INJECTION64_PATH), and the
// Python bootstrap the last, which makes the library an extension module of Python.

#include "app/record/nvtx_callbacks.h"
#include "app/record/python_functions.h"
#include "app/record/recorder.h"

extern "C" [[gnu::visibility("default")]] int InitializeInjection()
{
    tilescope::record::Recorder::startDevice();
    return 1;
}

extern "C" [[gnu::visibility("default")]] int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t getExportTable)
{
    const tilescope::MutexLock lock(tilescope::record::Recorder::startGuard());
    if (!tilescope::record::Recorder::start())
        return 0;
    return tilescope::record::installNvtxCallbacks(getExportTable) ? 1 : 0;
}

extern "C" [[gnu::visibility("default")]] void* PyInit__tilescope()
{
    return tilescope::record::makePythonModule();
}

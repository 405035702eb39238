#include "app/record/python_api.h"

namespace tilescope::record {

namespace {

bool load(PythonApi& api)
{
    findFunction(api.outerFrame, "PyFrame_GetBack");
    findFunction(api.codeOfFrame, "PyFrame_GetCode");
    return findFunction(api.newFunction, "PyCFunction_NewEx") && findFunction(api.call, "PyObject_Call") &&
           findFunction(api.callWith, "PyObject_CallFunctionObjArgs") &&
           findFunction(api.retain, "Py_IncRef") && findFunction(api.release, "Py_DecRef") &&
           findFunction(api.newBool, "PyBool_FromLong") && findFunction(api.newTuple, "PyTuple_New") &&
           findFunction(api.sizeOfTuple, "PyTuple_Size") &&
           findFunction(api.itemOfTuple, "PyTuple_GetItem") &&
           findFunction(api.setItemOfTuple, "PyTuple_SetItem") &&
           findFunction(api.itemOfDict, "PyDict_GetItemString") &&
           findFunction(api.setItemOfDict, "PyDict_SetItemString") &&
           findFunction(api.copyOfDict, "PyDict_Copy") && findFunction(api.isCallable, "PyCallable_Check") &&
           findFunction(api.attribute, "PyObject_GetAttr") &&
           findFunction(api.attributeCalled, "PyObject_GetAttrString") &&
           findFunction(api.setAttribute, "PyObject_SetAttr") && findFunction(api.text, "PyObject_Repr") &&
           findFunction(api.compareText, "PyUnicode_CompareWithASCIIString") &&
           findFunction(api.parse, "PyArg_ParseTuple") && findFunction(api.fetchError, "PyErr_Fetch") &&
           findFunction(api.restoreError, "PyErr_Restore") && findFunction(api.clearError, "PyErr_Clear") &&
           findFunction(api.hasError, "PyErr_Occurred") && findFunction(api.setError, "PyErr_SetString") &&
           findFunction(api.typeFromSpec, "PyType_FromSpec") &&
           findFunction(api.slotOfType, "PyType_GetSlot") &&
           findFunction(api.allocate, "PyType_GenericAlloc") &&
           findFunction(api.clearWeakReferences, "PyObject_ClearWeakRefs") &&
           findFunction(api.newMethod, "PyMethod_New") &&
           findFunction(api.newWeakReference, "PyWeakref_NewRef") &&
           findFunction(api.frame, "PyEval_GetFrame") &&
           findFunction(api.functionOf, "PyCFunction_GetFunction") &&
           findFunction(api.flagsOf, "PyCFunction_GetFlags") && findFunction(api.number, "PyLong_AsLong") &&
           findFunction(api.none, "_Py_NoneStruct") && findFunction(api.typeError, "PyExc_TypeError");
}

} // namespace

const PythonApi* PythonApi::ofThisProcess() noexcept
{
    static PythonApi api;
    static const bool loaded = load(api);
    return loaded ? &api : nullptr;
}

} // namespace tilescope::record

"""How what only compiled code calls is compiled: typed and lowered, and left to its callers to optimise.

Numba makes machine code of every function, and optimises it with all that it calls, anew for each caller on
the way up.  Of an inner function that code is never used: each caller has its own copy, inlined.  So such a
function ends as a module of LLVM that is linked into its callers, and all is optimised once, in the function
that Python calls.  That halves the time to compile; the operations, and so the bits, are the same.

It takes what Numba keeps to itself, from 0.61 to 0.68; `inner_pipeline` does without where that is gone.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["LinkedLibrary", "LinkedPipeline"]


def _reload_init(library: Any) -> Any:
    """What a library must call when it is loaded again; Numba 0.61 knows of nothing."""
    return getattr(library, "_reload_init", ())


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked into other libraries, and never run where it is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link what this code calls."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if _reload_init(library):
                self._reload_init.update(_reload_init(library))
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Numba's lowering, without machine code."""

    _name = "nucleate_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """The code of one function, known to those that call it."""
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        state.flags = flags.copy()
        state.flags.no_compile = True
        super().run_pass(state)
        state.flags = flags
        state.library.finalize()
        lowered = state["cr"]
        # stands for the function where Numba looks it up; has no address
        handle = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), state.func_id.func_name, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(handle, lowered.fndesc, [state.library])
        state.reload_init.extend(_reload_init(state.library))
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, handle, lowered.env)
        return True


class LinkedPipeline(CompilerBase):
    """Numba's compiler, with that lowering."""

    def define_pipelines(self) -> list[Any]:
        """The one there is."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, "nucleate_inner")
        manager.add_pass_after(_LinkedLowering, NativeLowering)
        manager.passes = [one for one in manager.passes if one[0] is not NativeLowering]
        manager.finalize()
        return [manager]

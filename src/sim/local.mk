# SPDX-License-Identifier: LGPL-2.1-or-later
# The simulated CUDA libraries, included by Makefile.am: front ends of the model in libstarpool.so
# under the names that programs were linked with. Nobody finds them who does not look for them, so
# they are always built. Their names are not libtool's to choose: it compiles them, link.sh links.
# In the build folder they are below sim/, as below $(pkglibdir)/sim when installed.
simdir = $(pkglibdir)/sim

# Each as a name below sim/; those that are the same for every version of CUDA are found in every
# version's folder.
sim_common =
sim_names  = $(sim_common)
sim_majors = 11 12 13

# Never unloaded, as libstarpool.so: programs keep addresses of functions, and threads end in them.
sim_cc   = $(CC) $(CFLAGS) $(PTHREAD_CFLAGS) $(SP_SANITIZER) $(LDFLAGS) $(SP_LIB_LDFLAGS) $(SP_PLUGIN_LDFLAGS)
sim_link = $(AM_V_CCLD)SIM_CC='$(sim_cc)' $(SHELL) '$(srcdir)/%D%/link.sh'
sim_deps = libstarpool.la %D%/link.sh

# What awk makes of lists is included by a file of C of the same name.
sim_awk = $(AM_V_GEN)$(MKDIR_P) %D% && $(AWK)

EXTRA_DIST += %D%/link.sh

# ---- libcuda.so.1: the driver API ------------------------------------------------------------
sim_common += libcuda.so.1
noinst_LTLIBRARIES += %D%/libsim_cuda.la
%C%_libsim_cuda_la_SOURCES = \
	%D%/driver_calls.c \
	%D%/driver_context.c \
	%D%/driver_exports.c \
	%D%/driver_exports.def \
	%D%/driver_graph.c \
	%D%/driver_lookup.c \
	%D%/driver_made.def \
	%D%/driver_made.h \
	%D%/table.h %D%/table.c
EXTRA_DIST += %D%/exports.awk %D%/libcuda.map

%D%/driver_exports.inc: %D%/exports.awk src/driver/calls.def %D%/driver_made.def %D%/driver_exports.def
	$(sim_awk) -f '$(srcdir)/%D%/exports.awk' '$(srcdir)/src/driver/calls.def' \
	  '$(srcdir)/%D%/driver_made.def' '$(srcdir)/%D%/driver_exports.def' >$@-t && mv -f $@-t $@
%D%/driver_exports.lo: %D%/driver_exports.inc
sim_made = %D%/driver_exports.inc

sim/libcuda.so.1: %D%/libsim_cuda.la %D%/libcuda.map $(sim_deps)
	$(sim_link) libcuda.so.1 '$(srcdir)/%D%/libcuda.map' %D%/.libs/libsim_cuda.a

# ---- libcudart: the runtime API, for each version of CUDA --------------------------------------
sim_names += cuda-11/libcudart.so.11.0 cuda-12/libcudart.so.12 cuda-13/libcudart.so.13
noinst_LTLIBRARIES += \
	%D%/libsim_cudart11.la \
	%D%/libsim_cudart12.la \
	%D%/libsim_cudart13.la
sim_cudart = \
	%D%/runtime.h \
	%D%/runtime_calls.def \
	%D%/runtime_copy.c \
	%D%/runtime_device.c \
	%D%/runtime_dot.c \
	%D%/runtime_entry.c \
	%D%/runtime_error.c \
	%D%/runtime_errors.def \
	%D%/runtime_graph.c \
	%D%/runtime_kernel.c \
	%D%/runtime_kind.c \
	%D%/runtime_memory.c \
	%D%/runtime_missing.c \
	%D%/runtime_missing.def \
	%D%/runtime_node.c \
	%D%/runtime_node_symbol.c \
	%D%/runtime_pool.c \
	%D%/runtime_props.h %D%/runtime_props.c \
	%D%/runtime_register.h %D%/runtime_register.c \
	%D%/runtime_set.c \
	%D%/runtime_stream.c \
	%D%/runtime_symbol.c \
	%D%/runtime_thread.c \
	%D%/runtime_twins.c \
	%D%/runtime_types.h \
	%D%/table.h %D%/table.c
%C%_libsim_cudart11_la_SOURCES  = $(sim_cudart) \
	%D%/runtime_11.c %D%/runtime_edgeless.c %D%/runtime_props_only.c
%C%_libsim_cudart12_la_SOURCES  = $(sim_cudart) \
	%D%/runtime_12.c %D%/runtime_edgeless.c %D%/runtime_edges.c %D%/runtime_since12.c
%C%_libsim_cudart13_la_SOURCES  = $(sim_cudart) \
	%D%/runtime_13.c %D%/runtime_edges.c %D%/runtime_props_only.c %D%/runtime_since12.c
%C%_libsim_cudart11_la_CPPFLAGS = $(AM_CPPFLAGS) -DSP_CUDART_MAJOR=11
%C%_libsim_cudart12_la_CPPFLAGS = $(AM_CPPFLAGS) -DSP_CUDART_MAJOR=12
%C%_libsim_cudart13_la_CPPFLAGS = $(AM_CPPFLAGS) -DSP_CUDART_MAJOR=13
EXTRA_DIST += %D%/libcudart-11.map %D%/libcudart-12.map %D%/libcudart-13.map

sim/cuda-11/libcudart.so.11.0: %D%/libsim_cudart11.la %D%/libcudart-11.map $(sim_deps)
	$(sim_link) cuda-11/libcudart.so.11.0 '$(srcdir)/%D%/libcudart-11.map' %D%/.libs/libsim_cudart11.a
sim/cuda-12/libcudart.so.12: %D%/libsim_cudart12.la %D%/libcudart-12.map $(sim_deps)
	$(sim_link) cuda-12/libcudart.so.12 '$(srcdir)/%D%/libcudart-12.map' %D%/.libs/libsim_cudart12.a
sim/cuda-13/libcudart.so.13: %D%/libsim_cudart13.la %D%/libcudart-13.map $(sim_deps)
	$(sim_link) cuda-13/libcudart.so.13 '$(srcdir)/%D%/libcudart-13.map' %D%/.libs/libsim_cudart13.a

# ---- libcublas, libcusparse: for each version of CUDA ------------------------------------------
sim_names += \
	cuda-11/libcublas.so.11 cuda-12/libcublas.so.12 cuda-13/libcublas.so.13 \
	cuda-11/libcusparse.so.11 cuda-12/libcusparse.so.12
noinst_LTLIBRARIES += \
	%D%/libsim_cublas11.la \
	%D%/libsim_cublas12.la \
	%D%/libsim_cublas13.la \
	%D%/libsim_cusparse11.la \
	%D%/libsim_cusparse12.la
sim_cublas = \
	%D%/blas.h \
	%D%/blas_api.h \
	%D%/blas_calls.c \
	%D%/blas_copy.c \
	%D%/blas_element.h \
	%D%/blas_ex.h %D%/blas_ex.c \
	%D%/blas_first.c \
	%D%/blas_handle.c \
	%D%/blas_many.c \
	%D%/blas_missing.c \
	%D%/blas_own.c \
	%D%/blas_own_matrix.c \
	%D%/blas_run.c \
	%D%/blas_system.c \
	%D%/blas_version.c \
	%D%/table.h %D%/table.c
sim_cusparse = %D%/sparse.h %D%/sparse_handle.c %D%/sparse_missing.c
%C%_libsim_cublas11_la_SOURCES    = $(sim_cublas)
%C%_libsim_cublas12_la_SOURCES    = $(sim_cublas)
%C%_libsim_cublas13_la_SOURCES    = $(sim_cublas)
%C%_libsim_cusparse11_la_SOURCES  = $(sim_cusparse)
%C%_libsim_cusparse12_la_SOURCES  = $(sim_cusparse)
%C%_libsim_cublas11_la_CPPFLAGS   = $(AM_CPPFLAGS) -DSP_CUDA_MAJOR=11
%C%_libsim_cublas12_la_CPPFLAGS   = $(AM_CPPFLAGS) -DSP_CUDA_MAJOR=12
%C%_libsim_cublas13_la_CPPFLAGS   = $(AM_CPPFLAGS) -DSP_CUDA_MAJOR=13
%C%_libsim_cusparse11_la_CPPFLAGS = $(AM_CPPFLAGS) -DSP_CUDA_MAJOR=11
%C%_libsim_cusparse12_la_CPPFLAGS = $(AM_CPPFLAGS) -DSP_CUDA_MAJOR=12
EXTRA_DIST += \
	%D%/blas.awk %D%/blas_calls.txt %D%/blas_missing.txt %D%/sparse_missing.txt %D%/stubs.awk \
	%D%/libcublas-11.map %D%/libcublas-12.map %D%/libcublas-13.map \
	%D%/libcusparse-11.map %D%/libcusparse-12.map

%D%/blas_calls.inc: %D%/blas.awk %D%/blas_calls.txt
	$(sim_awk) -f '$(srcdir)/%D%/blas.awk' '$(srcdir)/%D%/blas_calls.txt' >$@-t && mv -f $@-t $@
%D%/blas_missing.inc: %D%/stubs.awk %D%/blas_missing.txt
	$(sim_awk) -v library=libcublas -v answer=15 -f '$(srcdir)/%D%/stubs.awk' \
	  '$(srcdir)/%D%/blas_missing.txt' >$@-t && mv -f $@-t $@
%D%/sparse_missing.inc: %D%/stubs.awk %D%/sparse_missing.txt
	$(sim_awk) -v library=libcusparse -v answer=10 -f '$(srcdir)/%D%/stubs.awk' \
	  '$(srcdir)/%D%/sparse_missing.txt' >$@-t && mv -f $@-t $@
%D%/libsim_cublas11_la-blas_calls.lo %D%/libsim_cublas12_la-blas_calls.lo \
%D%/libsim_cublas13_la-blas_calls.lo: %D%/blas_calls.inc
%D%/libsim_cublas11_la-blas_missing.lo %D%/libsim_cublas12_la-blas_missing.lo \
%D%/libsim_cublas13_la-blas_missing.lo: %D%/blas_missing.inc
%D%/libsim_cusparse11_la-sparse_missing.lo %D%/libsim_cusparse12_la-sparse_missing.lo: \
	%D%/sparse_missing.inc
sim_made += %D%/blas_calls.inc %D%/blas_missing.inc %D%/sparse_missing.inc

sim/cuda-11/libcublas.so.11: %D%/libsim_cublas11.la %D%/libcublas-11.map $(sim_deps)
	$(sim_link) cuda-11/libcublas.so.11 '$(srcdir)/%D%/libcublas-11.map' %D%/.libs/libsim_cublas11.a -lm
sim/cuda-12/libcublas.so.12: %D%/libsim_cublas12.la %D%/libcublas-12.map $(sim_deps)
	$(sim_link) cuda-12/libcublas.so.12 '$(srcdir)/%D%/libcublas-12.map' %D%/.libs/libsim_cublas12.a -lm
sim/cuda-13/libcublas.so.13: %D%/libsim_cublas13.la %D%/libcublas-13.map $(sim_deps)
	$(sim_link) cuda-13/libcublas.so.13 '$(srcdir)/%D%/libcublas-13.map' %D%/.libs/libsim_cublas13.a -lm
sim/cuda-11/libcusparse.so.11: %D%/libsim_cusparse11.la %D%/libcusparse-11.map $(sim_deps)
	$(sim_link) cuda-11/libcusparse.so.11 '$(srcdir)/%D%/libcusparse-11.map' %D%/.libs/libsim_cusparse11.a
sim/cuda-12/libcusparse.so.12: %D%/libsim_cusparse12.la %D%/libcusparse-12.map $(sim_deps)
	$(sim_link) cuda-12/libcusparse.so.12 '$(srcdir)/%D%/libcusparse-12.map' %D%/.libs/libsim_cusparse12.a

# ---- libnvidia-ml.so.1: what manages devices ---------------------------------------------------
sim_common += libnvidia-ml.so.1
noinst_LTLIBRARIES += %D%/libsim_nvml.la
%C%_libsim_nvml_la_SOURCES = \
	%D%/nvml.h %D%/nvml.c \
	%D%/nvml_memory.c \
	%D%/nvml_missing.c \
	%D%/table.h %D%/table.c
EXTRA_DIST += %D%/libnvidia-ml.map %D%/nvml_missing.txt

%D%/nvml_missing.inc: %D%/stubs.awk %D%/nvml_missing.txt
	$(sim_awk) -v library=libnvidia-ml -v answer=3 -f '$(srcdir)/%D%/stubs.awk' \
	  '$(srcdir)/%D%/nvml_missing.txt' >$@-t && mv -f $@-t $@
%D%/nvml_missing.lo: %D%/nvml_missing.inc
sim_made += %D%/nvml_missing.inc

sim/libnvidia-ml.so.1: %D%/libsim_nvml.la %D%/libnvidia-ml.map $(sim_deps)
	$(sim_link) libnvidia-ml.so.1 '$(srcdir)/%D%/libnvidia-ml.map' %D%/.libs/libsim_nvml.a

# ---- stand-ins for the kernels of StarPU's examples --------------------------------------------
sim_names += kernels-starpu.so
noinst_LTLIBRARIES += %D%/libsim_kernels.la
%C%_libsim_kernels_la_SOURCES = %D%/kernels_starpu.c

sim/kernels-starpu.so: %D%/libsim_kernels.la $(sim_deps)
	$(sim_link) kernels-starpu.so '' %D%/.libs/libsim_kernels.a -lm

CLEANFILES += $(sim_made)

# ---- all of them -----------------------------------------------------------------------------
sim_files = $(sim_names:%=sim/%)

sim/links: $(sim_files)
	$(AM_V_GEN)for major in $(sim_majors); do \
	  $(MKDIR_P) sim/cuda-$$major || exit; \
	  for name in $(sim_common); do \
	    $(LN_S) -f ../$$name sim/cuda-$$major/$$name || exit; \
	  done; \
	done; touch $@

all-local: sim/links

clean-local:
	rm -rf sim

install-exec-local: sim/links
	for major in $(sim_majors); do \
	  $(MKDIR_P) '$(DESTDIR)$(simdir)'/cuda-$$major || exit; \
	done
	for name in $(sim_names); do \
	  $(INSTALL_PROGRAM) sim/installed/$$name '$(DESTDIR)$(simdir)'/$$name || exit; \
	done
	for major in $(sim_majors); do \
	  for name in $(sim_common); do \
	    rm -f '$(DESTDIR)$(simdir)'/cuda-$$major/$$name && \
	      $(LN_S) ../$$name '$(DESTDIR)$(simdir)'/cuda-$$major/$$name || exit; \
	  done; \
	done

uninstall-local:
	for name in $(sim_names); do rm -f '$(DESTDIR)$(simdir)'/$$name; done
	for major in $(sim_majors); do \
	  for name in $(sim_common); do rm -f '$(DESTDIR)$(simdir)'/cuda-$$major/$$name; done; \
	  rmdir '$(DESTDIR)$(simdir)'/cuda-$$major 2>/dev/null || :; \
	done
	-rmdir '$(DESTDIR)$(simdir)' '$(DESTDIR)$(pkglibdir)' 2>/dev/null

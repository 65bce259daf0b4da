# SPDX-License-Identifier: LGPL-2.1-or-later
# The tests, included by Makefile.am. Every test speaks TAP, so each case is a line of `make check`.

# ---- the unit tests: one program a module -----------------------------------------------------
unit_tests = \
	%D%/test_addrmap \
	%D%/test_antichain \
	%D%/test_arena \
	%D%/test_capture \
	%D%/test_capture_free \
	%D%/test_capture_pool \
	%D%/test_capture_stress \
	%D%/test_checker \
	%D%/test_codelet_ranges \
	%D%/test_device_oom \
	%D%/test_device_pool \
	%D%/test_device_reset \
	%D%/test_diag \
	%D%/test_driver \
	%D%/test_driver_faults \
	%D%/test_driver_pool \
	%D%/test_features \
	%D%/test_front \
	%D%/test_graph \
	%D%/test_graph_files \
	%D%/test_graph_pictures \
	%D%/test_graph_read \
	%D%/test_heap \
	%D%/test_host_pool \
	%D%/test_interval \
	%D%/test_interval_search \
	%D%/test_ipc \
	%D%/test_ipc_hostile \
	%D%/test_json \
	%D%/test_liveness \
	%D%/test_lock \
	%D%/test_model \
	%D%/test_model_capture \
	%D%/test_model_capture_life \
	%D%/test_model_cost \
	%D%/test_model_exec \
	%D%/test_model_faults \
	%D%/test_model_freed \
	%D%/test_model_freed_random \
	%D%/test_model_graph \
	%D%/test_model_graph_memory \
	%D%/test_model_graph_oom \
	%D%/test_model_graph_random \
	%D%/test_model_kernel \
	%D%/test_model_kernel_graph \
	%D%/test_model_kernel_oom \
	%D%/test_model_kernel_random \
	%D%/test_model_objects \
	%D%/test_model_protect \
	%D%/test_model_protect_fault \
	%D%/test_model_queries \
	%D%/test_model_races \
	%D%/test_model_races_random \
	%D%/test_model_shapes \
	%D%/test_model_shared \
	%D%/test_model_stress \
	%D%/test_model_update \
	%D%/test_nvtx \
	%D%/test_nvtx_tool \
	%D%/test_options \
	%D%/test_order \
	%D%/test_order_random \
	%D%/test_ordered \
	%D%/test_ordered_random \
	%D%/test_per_thread \
	%D%/test_plan \
	%D%/test_plan_check \
	%D%/test_plan_exact \
	%D%/test_poison \
	%D%/test_pool \
	%D%/test_registered \
	%D%/test_reuse \
	%D%/test_reuse_merge \
	%D%/test_reuse_oracle \
	%D%/test_reuse_random \
	%D%/test_room \
	%D%/test_segment \
	%D%/test_shadow \
	%D%/test_share \
	%D%/test_shortage \
	%D%/test_stats \
	%D%/test_store \
	%D%/test_strays \
	%D%/test_streams \
	%D%/test_stress \
	%D%/test_taskgraph \
	%D%/test_taskgraph_plan \
	%D%/test_topo \
	%D%/test_trace \
	%D%/test_trace_pool \
	%D%/test_trace_use \
	%D%/test_verify \
	%D%/test_wrong

# The rules of the stream-ordered allocator, over a driver's table: the CPU model's in both ways of
# executing, and the real one where it is. Ours on the public API.
conformance_tests = \
	%D%/conformance_cuda \
	%D%/conformance_model_inline \
	%D%/conformance_model_threads

# The simulated libraries, as programs find them.
sim_tests = \
	%D%/test_sim_blas \
	%D%/test_sim_blas_matrices \
	%D%/test_sim_blas_triangles \
	%D%/test_sim_blas_vectors \
	%D%/test_sim_driver \
	%D%/test_sim_fuzz \
	%D%/test_sim_kernels \
	%D%/test_sim_nvml \
	%D%/test_sim_runtime \
	%D%/test_sim_runtime_kernels \
	%D%/test_sim_runtime_versions \
	%D%/conformance_sim_cuda \
	%D%/conformance_sim_cudart

# The analysis and the factorisation of examples/cholesky.
cholesky_tests = \
	%D%/test_cholesky \
	%D%/test_cholesky_matrix

if HAVE_CMOCKA
check_LTLIBRARIES += %D%/libsupport.la %D%/libconformance.la
%C%_libsupport_la_SOURCES = \
	%D%/capture_fixture.h %D%/capture_fixture.c \
	%D%/capture_script.h %D%/capture_script.c \
	%D%/device_case.h %D%/device_case.c \
	%D%/driver_fixture.h %D%/driver_fixture.c \
	%D%/exec_fixture.h %D%/exec_fixture.c \
	%D%/fixture.h %D%/fixture.c \
	%D%/interval_case.h %D%/interval_case.c \
	%D%/kernel_fixture.h %D%/kernel_fixture.c \
	%D%/model_capture_fixture.h %D%/model_capture_fixture.c \
	%D%/model_fixture.h %D%/model_fixture.c \
	%D%/oracle.h %D%/oracle.c \
	%D%/order_fixture.h \
	%D%/plan_fixture.h %D%/plan_fixture.c \
	%D%/plan_random.h %D%/plan_random.c \
	%D%/reuse_blocks.c \
	%D%/reuse_fixture.h \
	%D%/reuse_world.h %D%/reuse_world.c \
	%D%/roles.h %D%/roles.c \
	%D%/script.h %D%/script.c \
	%D%/stream_fixture.h %D%/stream_fixture.c \
	%D%/support.h %D%/support.c \
	%D%/taskgraph_fixture.h \
	%D%/trace_case.h %D%/trace_case.c

%C%_libconformance_la_SOURCES = \
	%D%/conformance.h \
	%D%/conformance_access.c \
	%D%/conformance_attr.c \
	%D%/conformance_cap.h %D%/conformance_cap.c \
	%D%/conformance_cap_help.c \
	%D%/conformance_cap_info.c \
	%D%/conformance_cap_modes.c \
	%D%/conformance_cap_threads.c \
	%D%/conformance_cap_work.c \
	%D%/conformance_child.h %D%/conformance_child.c \
	%D%/conformance_def.c \
	%D%/conformance_destroy.c \
	%D%/conformance_gmem.c \
	%D%/conformance_gnode.c \
	%D%/conformance_gnode_life.c \
	%D%/conformance_gnode_limits.c \
	%D%/conformance_gobj.c \
	%D%/conformance_graph.h %D%/conformance_graph.c \
	%D%/conformance_help.c \
	%D%/conformance_inter.c \
	%D%/conformance_ipc.h %D%/conformance_ipc.c \
	%D%/conformance_ipc_pointer.c \
	%D%/conformance_main.h \
	%D%/conformance_order.h %D%/conformance_order.c \
	%D%/conformance_order_reuse.c \
	%D%/conformance_pit.c \
	%D%/conformance_pit_memory.c \
	%D%/conformance_pool.c \
	%D%/conformance_private.h \
	%D%/conformance_run.c \
	%D%/conformance_trim.c

# For every test that names nothing else: the objects themselves, hidden symbols and all.
LDADD = %D%/libsupport.la libstarpool_core.la $(CMOCKA_LIBS)

check_PROGRAMS += $(unit_tests) $(conformance_tests) $(sim_tests) %D%/conformance_api \
	%D%/harness_cases %D%/trace_sample
compiled_tests  = $(unit_tests) $(conformance_tests) $(sim_tests) %D%/conformance_api
conformance_libs = %D%/libconformance.la $(LDADD)
%C%_conformance_cuda_LDADD          = $(conformance_libs)
%C%_conformance_model_inline_LDADD  = $(conformance_libs)
%C%_conformance_model_threads_LDADD = $(conformance_libs)

# These share the model with the simulated libraries, which is the one in libstarpool.so.
sim_test_libs = %D%/libsupport.la libstarpool.la $(CMOCKA_LIBS) -lm
%C%_conformance_sim_cuda_LDADD   = %D%/libconformance.la $(sim_test_libs)
%C%_conformance_sim_cudart_LDADD = %D%/libconformance.la $(sim_test_libs)
%C%_test_sim_blas_LDADD             = $(sim_test_libs)
%C%_test_sim_blas_matrices_LDADD    = $(sim_test_libs)
%C%_test_sim_blas_triangles_LDADD   = $(sim_test_libs)
%C%_test_sim_blas_vectors_LDADD     = $(sim_test_libs)
%C%_test_sim_driver_LDADD           = $(sim_test_libs)
%C%_test_sim_fuzz_LDADD             = $(sim_test_libs)
%C%_test_sim_kernels_LDADD          = $(sim_test_libs)
%C%_test_sim_nvml_LDADD             = $(sim_test_libs)
%C%_test_sim_runtime_LDADD          = $(sim_test_libs)
%C%_test_sim_runtime_kernels_LDADD  = $(sim_test_libs)
%C%_test_sim_runtime_versions_LDADD = $(sim_test_libs)
# They open the libraries while they run.
EXTRA_%C%_conformance_sim_cuda_DEPENDENCIES      = sim/links
EXTRA_%C%_conformance_sim_cudart_DEPENDENCIES    = sim/links
EXTRA_%C%_test_sim_blas_DEPENDENCIES             = sim/links
EXTRA_%C%_test_sim_blas_matrices_DEPENDENCIES    = sim/links
EXTRA_%C%_test_sim_blas_triangles_DEPENDENCIES   = sim/links
EXTRA_%C%_test_sim_blas_vectors_DEPENDENCIES     = sim/links
EXTRA_%C%_test_sim_driver_DEPENDENCIES           = sim/links
EXTRA_%C%_test_sim_fuzz_DEPENDENCIES             = sim/links
EXTRA_%C%_test_sim_kernels_DEPENDENCIES          = sim/links
EXTRA_%C%_test_sim_nvml_DEPENDENCIES             = sim/links
EXTRA_%C%_test_sim_runtime_DEPENDENCIES          = sim/links
EXTRA_%C%_test_sim_runtime_kernels_DEPENDENCIES  = sim/links
EXTRA_%C%_test_sim_runtime_versions_DEPENDENCIES = sim/links
sim_blas_parts = %D%/sim_blas_fixture.h %D%/sim_blas_fixture.c
%C%_test_sim_blas_SOURCES           = %D%/test_sim_blas.c $(sim_blas_parts)
%C%_test_sim_blas_matrices_SOURCES  = %D%/test_sim_blas_matrices.c $(sim_blas_parts)
%C%_test_sim_blas_triangles_SOURCES = %D%/test_sim_blas_triangles.c $(sim_blas_parts)
%C%_test_sim_blas_vectors_SOURCES   = %D%/test_sim_blas_vectors.c $(sim_blas_parts)
%C%_test_sim_fuzz_SOURCES           = %D%/test_sim_fuzz.c %D%/sim_fuzz.h %D%/sim_fuzz_calls.c \
	%D%/sim_fuzz_run.c %D%/sim_fuzz_sequence.c %D%/sim_fuzz_values.c
%C%_test_sim_kernels_SOURCES        = %D%/test_sim_kernels.c $(sim_blas_parts)
%C%_test_sim_nvml_SOURCES           = %D%/test_sim_nvml.c $(sim_blas_parts)
sim_runtime_parts = %D%/sim_runtime_fixture.h %D%/sim_runtime_fixture.c
%C%_test_sim_runtime_SOURCES          = %D%/test_sim_runtime.c $(sim_runtime_parts)
%C%_test_sim_runtime_kernels_SOURCES  = %D%/test_sim_runtime_kernels.c $(sim_runtime_parts)
%C%_test_sim_runtime_versions_SOURCES = %D%/test_sim_runtime_versions.c $(sim_runtime_parts)

# Stand-ins for kernels that a test loads, and those that it defines itself.
%D%/kernels_object.so: %D%/kernels_object.c include/starpool/kernel.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(SP_CFLAGS) \
	  -shared -fPIC -o $@ '$(srcdir)/%D%/kernels_object.c'
EXTRA_%C%_test_model_kernel_DEPENDENCIES = %D%/kernels_object.so
CLEANFILES += %D%/kernels_object.so
%C%_test_model_kernel_LDFLAGS = $(AM_LDFLAGS) -export-dynamic

# A tool that NVTX tells of memory, and only writes down what it hears.
fake_nvtx = %D%/fake_nvtx/libfake_nvtx.so
$(fake_nvtx): %D%/fake_nvtx.c %D%/fake_nvtx.h src/pool/nvtx_abi.h
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(SP_CFLAGS) \
	  -fvisibility=default -shared -fPIC -o $@ '$(srcdir)/%D%/fake_nvtx.c'
EXTRA_%C%_test_nvtx_DEPENDENCIES      = $(fake_nvtx)
EXTRA_%C%_test_nvtx_tool_DEPENDENCIES = $(fake_nvtx)
CLEANFILES += $(fake_nvtx)

# Memory that runs out: what the tests define stands in for the C library's.
%C%_test_device_oom_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=mmap
%C%_test_interval_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
%C%_test_model_kernel_oom_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=malloc -Wl,--wrap=realloc
%C%_test_model_graph_oom_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=realloc
%C%_test_plan_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=realloc

# The parts of the plugin that know nothing of StarPU.
taskgraph_parts = \
	src/starpu/taskgraph_cells.c \
	src/starpu/taskgraph_log.c \
	src/starpu/taskgraph_map.c \
	src/starpu/taskgraph_plan.c \
	src/starpu/taskgraph_record.c \
	src/starpu/taskgraph_safe.c \
	src/starpu/taskgraph_table.c \
	src/starpu/taskgraph_tasks.c
%C%_test_codelet_ranges_SOURCES = %D%/test_codelet_ranges.c src/starpu/codelet_ranges.c
%C%_test_taskgraph_SOURCES      = %D%/test_taskgraph.c $(taskgraph_parts)
%C%_test_taskgraph_plan_SOURCES = %D%/test_taskgraph_plan.c $(taskgraph_parts)

# A program that is recorded.
%C%_trace_sample_LDADD = libstarpool_core.la $(PTHREAD_LIBS)

# Drivers that are none, for test_driver: see their source.
fake_drivers = \
	%D%/fake_whole/libcuda.so.1 \
	%D%/fake_no_init/libcuda.so.1 \
	%D%/fake_own/libcuda.so.1
$(fake_drivers): %D%/fake_cuda.c src/driver/abi.h src/driver/calls.def
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(SP_CFLAGS) \
	  -fvisibility=default -shared -fPIC -Wl,-soname,libcuda.so.1 -D$$(basename $(@D)) \
	  -o $@ '$(srcdir)/%D%/fake_cuda.c'
EXTRA_%C%_test_driver_DEPENDENCIES = $(fake_drivers)
CLEANFILES += $(fake_drivers)
if HAVE_CHOLESKY
check_PROGRAMS += $(cholesky_tests)
compiled_tests += $(cholesky_tests)
cholesky_libs = %D%/libsupport.la libstarpool_core.la examples/cholesky/libcholesky.la $(CMOCKA_LIBS)
%C%_test_cholesky_CFLAGS = $(AM_CFLAGS) $(STARPU_CFLAGS)
%C%_test_cholesky_LDADD  = $(cholesky_libs)
%C%_test_cholesky_matrix_LDADD = $(cholesky_libs)
endif
endif

# Compiled only: our words for the driver's ABI beside its own.
if HAVE_CUDA_H
check_LTLIBRARIES += %D%/libabi_check.la
%C%_libabi_check_la_SOURCES  = \
	%D%/abi_check.h %D%/abi_check.c \
	%D%/abi_check_kernel.c \
	%D%/abi_check_nvtx.c \
	%D%/abi_check_runtime.c \
	%D%/abi_check_sim.c
%C%_libabi_check_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
endif

# ---- the tests that are scripts ---------------------------------------------------------------
script_tests = \
	%D%/check_exports.sh \
	%D%/check_headers.sh \
	%D%/check_imports.sh \
	%D%/check_install.sh \
	%D%/check_layers.sh \
	%D%/check_sizes.sh \
	%D%/test_bench.sh \
	%D%/test_cholesky_cli.sh \
	%D%/test_coverage.sh \
	%D%/test_gpu_check.sh \
	%D%/test_harness.sh \
	%D%/test_plan_command.sh \
	%D%/test_sim_cudart_exports.sh \
	%D%/test_sim_exports.sh \
	%D%/test_sim_nvcc.sh \
	%D%/test_sim_programs.sh \
	%D%/test_simulate.sh \
	%D%/test_starpu.sh \
	%D%/test_starpu_cuda.sh \
	%D%/test_starpu_taskgraph.sh \
	%D%/test_starpu_ways.sh \
	%D%/test_tool_info.sh \
	%D%/test_tool_run.sh \
	%D%/test_tool_trace.sh \
	%D%/test_valgrind.sh

EXTRA_DIST += $(script_tests) \
	%D%/contrib_long.sh \
	%D%/coverage.sh \
	%D%/fake_cuda.c \
	%D%/fake_nvtx.c \
	%D%/fake_nvtx.h \
	%D%/gpu \
	%D%/gpu_check.sh \
	%D%/gpu_run.sh \
	%D%/kernels_object.c \
	%D%/tap.sh \
	%D%/taplib.sh \
	%D%/closing_line.sh \
	%D%/check_mutants.sh \
	%D%/check_numa.sh \
	%D%/layers.txt \
	%D%/skips.txt \
	%D%/starpu_examples.sh \
	%D%/state.txt \
	%D%/valgrind.supp \
	%D%/data \
	%D%/numa \
	%D%/mutants \
	%D%/sim \
	%D%/sim_vector_add.cu \
	%D%/starpu

TESTS = $(compiled_tests) $(script_tests)
TEST_EXTENSIONS = .sh
AM_TESTS_ENVIRONMENT = \
	srcdir='$(srcdir)'; export srcdir; \
	builddir='$(abs_builddir)'; export builddir; \
	CC='$(CC)'; export CC; \
	CXX='$(CXX)'; export CXX; \
	NM='$(NM)'; export NM; \
	AWK='$(AWK)'; export AWK; \
	PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; \
	STARPU_CFLAGS='$(STARPU_CFLAGS)'; export STARPU_CFLAGS; \
	STARPU_LIBS='$(STARPU_LIBS)'; export STARPU_LIBS; \
	STARPU_FLAVOUR='$(STARPU_FLAVOUR)'; export STARPU_FLAVOUR; \
	STARPU_PREFIX='$(STARPU_PREFIX)'; export STARPU_PREFIX; \
	SP_SANITIZER='$(SP_SANITIZER)'; export SP_SANITIZER; \
	SP_SANITIZER_NAME='$(SP_SANITIZER_NAME)'; export SP_SANITIZER_NAME; \
	libdir='$(libdir)'; export libdir; \
	pkglibdir='$(pkglibdir)'; export pkglibdir; \
	includedir='$(includedir)'; export includedir; \
	bindir='$(bindir)'; export bindir;

tap_driver      = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER      = $(tap_driver)
LOG_COMPILER    = $(SHELL) $(srcdir)/%D%/tap.sh
SH_LOG_DRIVER   = $(tap_driver)
SH_LOG_COMPILER = $(SHELL) $(srcdir)/%D%/tap.sh $(SHELL)

# Installing links the plugin anew, in place, under the eyes of tests that load it: so it comes
# last. Of the chosen tests only, so that TESTS=tests/check_install.sh runs nothing else.
%D%/check_install.log: $(filter-out %D%/check_install.log,$(TEST_LOGS))

# ---- more than make check ---------------------------------------------------------------------
# Every page's place, on a kernel with several NUMA nodes.
check-numa: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='%D%/check_numa.sh' STARPOOL_TEST_TIMEOUT=1200
# Full-size random tests, valgrind, StarPU's own examples under the plugin, and its CUDA build on
# simulated devices.
check-long: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(compiled_tests)' \
	  STARPOOL_TEST_SCALE="$${STARPOOL_TEST_SCALE:-10}" STARPOOL_TEST_TIMEOUT=1800
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)' STARPOOL_TEST_TIMEOUT=1800 \
	  STARPOOL_TEST_SCALE=0.1 \
	  LOG_COMPILER='$(LOG_COMPILER) valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --suppressions=$(srcdir)/%D%/valgrind.supp'
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='%D%/starpu_examples.sh' STARPOOL_TEST_TIMEOUT=3600
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='%D%/contrib_long.sh' STARPOOL_TEST_TIMEOUT=5400

# Deliberately broken versions, each of which a test must catch.
check-mutants: all
	srcdir='$(srcdir)' builddir='$(abs_builddir)' $(SHELL) '$(srcdir)/%D%/check_mutants.sh' $(MUTANTS)

# One test by itself, its TAP on stdout: make check-one TEST=tests/test_heap
check-one:
	@$(AM_TESTS_ENVIRONMENT) \
	case $(TEST) in \
	*.sh) exec $(SH_LOG_COMPILER) '$(srcdir)/$(TEST)' ;; \
	*) exec $(LOG_COMPILER) './$(TEST)' ;; \
	esac

# ---- the source -------------------------------------------------------------------------------
# Every C file of ours, by its name from the source folder, which is then the current one.
list_sources = cd '$(srcdir)' && for folder in include src numa graph examples bench tests; do \
	  test ! -d $$folder || find $$folder -name '*.[ch]'; done | LC_ALL=C sort

check-format:
	$(list_sources) | xargs clang-format --dry-run -Werror

# Any string does for the two that name a place; tests/test_starpu_ways.sh gives the two numbers,
# and a version of CUDA is what the simulated libraries are compiled for.
tidy_flags = -std=gnu11 -DHAVE_CONFIG_H -DSP_PKGLIBDIR=__FILE__ -DSP_STARPU_FLAVOUR=__FILE__ \
	-DMAJOR=9 -DMINOR=9 -DSP_CUDA_MAJOR=13 $(CUDA_CPPFLAGS) -I"$(abs_builddir)" -Iinclude -Isrc -I. \
	$(HWLOC_CFLAGS) $(STARPU_CFLAGS) $(CMOCKA_CFLAGS)
check-tidy: config.h $(sim_made)
	$(list_sources) | grep '\.c$$' | { test -n '$(CUDA_CPPFLAGS)' && cat || grep -v abi_check; } | xargs -P "$${JOBS:-2}" -n 4 \
	  $(SHELL) -c 'exec clang-tidy --quiet "$$@" -- $(tidy_flags)' tidy

# What the specification's rules rest on, from the results of the last make check.
check-coverage:
	$(SHELL) '$(srcdir)/%D%/coverage.sh' '$(abs_builddir)'

.PHONY: check-coverage check-numa check-long check-mutants check-one check-format check-tidy

# The kernel and the image of check-numa.
distclean-local:
	rm -rf numa-vm

# kaon_add_kernels(target [JOINED name] PRECISIONS <d|s|h|all>... FILES file.c...): compiles each file once for every CPU instruction
# set and precision (`all`: once for every instruction set) and adds the objects to the target. JOINED compiles them as one file,
# because the shared headers take as long as most of them. Their static names must then differ.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(KAON_ISAS scalar x86_64 avx2 avx512)
  set(KAON_BUILD_X86 ON)
else()
  set(KAON_ISAS scalar)
  set(KAON_BUILD_X86 OFF)
endif()
if(KAON_BUILD_X86)
  set(KAON_ISA_FLAGS_scalar -O1) # for comparison, and for the oldest machines
else()
  set(KAON_ISA_FLAGS_scalar -O2)
endif()
set(KAON_ISA_FLAGS_x86_64 -O2) # for machines without AVX2; compiles faster than -O3
set(KAON_ISA_FLAGS_avx2 -O3 -mavx2 -mfma)
set(KAON_ISA_FLAGS_avx512 -O3 -mfma -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512)
# Hops need none of these optimisations, which take a quarter of their compile time (bench/notes/design-cpu-compile.md).
set(KAON_HOP_FLAGS $<$<C_COMPILER_ID:GNU>:--param=sccvn-max-alias-queries-per-access=60> $<$<C_COMPILER_ID:GNU>:-fno-gcse>
                   $<$<C_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
add_library(kaon_kernel_flags INTERFACE) # follow those of kaon_flags
# AddressSanitizer checks the loads and stores of kernels, so that UndefinedBehaviorSanitizer need not. The simple register allocation
# saves most of the compile time of instrumented kernels.
if(KAON_SANITIZE)
  foreach(isa ${KAON_ISAS})
    list(TRANSFORM KAON_ISA_FLAGS_${isa} REPLACE "-O[23]" "-O1")
  endforeach()
  target_compile_options(kaon_kernel_flags INTERFACE -fno-sanitize=null,alignment,object-size,pointer-overflow
                                                     $<$<C_COMPILER_ID:GNU>:-fira-algorithm=priority -fira-region=one>)
endif()
set(KAON_PREC_NAME_d DOUBLE)
set(KAON_PREC_NAME_s SINGLE)
set(KAON_PREC_NAME_h HALF)
set(KAON_PREC_NAME_all ALL)

# kaon_source_scope(result target): the scope of a target's sources: an INTERFACE library passes them to targets that link it.
function(kaon_source_scope result target)
  get_target_property(type ${target} TYPE)
  set(${result} PRIVATE PARENT_SCOPE)
  if(type STREQUAL INTERFACE_LIBRARY)
    set(${result} INTERFACE PARENT_SCOPE)
  endif()
endfunction()

# kaon_kernel_objects(target stem PRECISIONS ... FILES ...): the objects of one unit, which may consist of several files.
function(kaon_kernel_objects target stem)
  cmake_parse_arguments(ARG "" "" "PRECISIONS;FILES" ${ARGN})
  kaon_source_scope(scope ${target})
  foreach(isa ${KAON_ISAS})
    string(TOUPPER ${isa} isa_upper)
    set(flags ${KAON_ISA_FLAGS_${isa}})
    if(stem STREQUAL gauge_cpu) # no solve waits for it, and it compiles in half the time
      list(TRANSFORM flags REPLACE "-O3" "-O2")
    elseif(stem STREQUAL dslash_cpu_hop_c AND NOT isa STREQUAL scalar)
      list(APPEND flags ${KAON_HOP_FLAGS})
    endif()
    foreach(prec ${ARG_PRECISIONS})
      set(object ${target}_${stem}_${isa}_${prec})
      add_library(${object} OBJECT ${ARG_FILES})
      set_target_properties(${object} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      target_link_libraries(${object} PRIVATE kaon_flags kaon_kernel_flags)
      target_compile_options(${object} PRIVATE ${flags})
      target_compile_definitions(${object} PRIVATE KAON_ISA_${isa_upper} KAON_PREC_${KAON_PREC_NAME_${prec}})
      target_sources(${target} ${scope} $<TARGET_OBJECTS:${object}>)
    endforeach()
  endforeach()
endfunction()

function(kaon_add_kernels target)
  cmake_parse_arguments(ARG "" "JOINED" "PRECISIONS;FILES" ${ARGN})
  if(ARG_JOINED)
    kaon_kernel_objects(${target} ${ARG_JOINED} PRECISIONS ${ARG_PRECISIONS} FILES ${ARG_FILES})
  else()
    foreach(file ${ARG_FILES})
      string(REGEX REPLACE "[/.]" "_" stem ${file})
      kaon_kernel_objects(${target} ${stem} PRECISIONS ${ARG_PRECISIONS} FILES ${file})
    endforeach()
  endif()
endfunction()

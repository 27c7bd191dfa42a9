# The CUDA backend: whether it is built, for which devices, and how its kernels are compiled.
#   KAON_CUDA        AUTO (default): ON if there is a CUDA compiler; DEVICE: ON if there is a device, too; ON; OFF
#   KAON_CUDA_ARCHS  compute capabilities without the dot. Default: those of the devices present, else 80 and 90. PTX is
#                    included, which the driver compiles for newer devices at the first start
#   KAON_NCCL        AUTO (default): NCCL is loaded at run time, by the loader's path or from where it is now (NCCL_ROOT
#                    first); ON: it must be present when configuring; OFF: it is not used
include(CheckLanguage)
check_language(CUDA)
set(KAON_CUDA_FOUND OFF)
if(CMAKE_CUDA_COMPILER)
  set(KAON_CUDA_FOUND ON)
endif()

# The compute capabilities of the devices present; empty if there are none.
function(kaon_cuda_devices result)
  set(archs "")
  find_program(KAON_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(KAON_NVIDIA_SMI)
  if(KAON_NVIDIA_SMI)
    execute_process(COMMAND ${KAON_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE found
                    ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${found}")
    if(found)
      string(REPLACE "." "" archs "${found}")
      list(REMOVE_DUPLICATES archs)
    endif()
  endif()
  set(${result} ${archs} PARENT_SCOPE)
endfunction()

set(KAON_CUDA AUTO CACHE STRING "the CUDA backend: AUTO, DEVICE, ON, OFF")
set_property(CACHE KAON_CUDA PROPERTY STRINGS AUTO DEVICE ON OFF)
if(KAON_CUDA STREQUAL AUTO)
  set(KAON_CUDA ${KAON_CUDA_FOUND})
elseif(KAON_CUDA STREQUAL DEVICE)
  kaon_cuda_devices(KAON_CUDA_PRESENT)
  set(KAON_CUDA OFF)
  if(KAON_CUDA_FOUND AND KAON_CUDA_PRESENT)
    set(KAON_CUDA ON)
  elseif(KAON_CUDA_FOUND)
    message(STATUS "no CUDA device here: kernels for devices are left out (-DKAON_CUDA=ON compiles them)")
  endif()
endif()
if(NOT KAON_CUDA)
  return()
endif()
if(NOT KAON_CUDA_FOUND)
  message(FATAL_ERROR "KAON_CUDA=ON, but no CUDA compiler was found; set CUDACXX to nvcc, or KAON_CUDA=OFF")
endif()

if(NOT DEFINED KAON_CUDA_ARCHS)
  kaon_cuda_devices(KAON_CUDA_ARCHS)
  if(NOT KAON_CUDA_ARCHS)
    set(KAON_CUDA_ARCHS 80 90)
  endif()
endif()
set(KAON_CUDA_ARCHS "${KAON_CUDA_ARCHS}" CACHE STRING "compute capabilities to compile for, as in 80;90")
set(CMAKE_CUDA_ARCHITECTURES ${KAON_CUDA_ARCHS})
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG") # for host code that launches kernels; device code is always optimised
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

# cuSOLVER inverts the coarsest level of multigrid (lib/cuda/invert.c). With what it needs it takes 900 MB, so it is not linked: it is
# loaded at run time, by the loader's path or from where it is now.
if(TARGET CUDA::cusolver)
  get_target_property(KAON_CUSOLVER_LIBRARY CUDA::cusolver IMPORTED_LOCATION)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/lib/cuda/invert.c PROPERTIES
                              COMPILE_DEFINITIONS KAON_CUSOLVER_LIBRARY="${KAON_CUSOLVER_LIBRARY}")
else()
  message(STATUS "no cuSOLVER: the coarsest level of multigrid is inverted on the host unless it is found at run time")
endif()

set(KAON_NCCL AUTO CACHE STRING "NCCL between devices of several ranks, loaded at run time: AUTO, ON, OFF")
set_property(CACHE KAON_NCCL PROPERTY STRINGS AUTO ON OFF)
if(KAON_NCCL STREQUAL OFF)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/lib/cuda/ranks/ranks_nccl.c PROPERTIES COMPILE_DEFINITIONS KAON_NO_NCCL)
else()
  find_library(KAON_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${NCCL_ROOT} $ENV{NCCL_ROOT} ${CUDAToolkit_LIBRARY_DIR}
               PATH_SUFFIXES lib lib64)
  mark_as_advanced(KAON_NCCL_LIBRARY)
  if(KAON_NCCL_LIBRARY)
    message(STATUS "NCCL: ${KAON_NCCL_LIBRARY}")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/lib/cuda/ranks/ranks_nccl.c PROPERTIES
                                COMPILE_DEFINITIONS KAON_NCCL_LIBRARY="${KAON_NCCL_LIBRARY}")
  elseif(KAON_NCCL STREQUAL ON)
    message(FATAL_ERROR "KAON_NCCL=ON, but libnccl.so.2 was not found; name where it is by -DNCCL_ROOT=...")
  endif()
endif()

# kaon_cuda_object(name file precision): an object library of the file in one precision.
# Warning 177 is about functions of shared headers that a file does not use. nvcc includes <cmath> everywhere; defining the guard
# _GLIBCXX_BITS_SPECFUN_H leaves out its special functions, a third of the compile time of an empty file.
function(kaon_cuda_object name file prec)
  get_filename_component(file ${file} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  add_library(${name} OBJECT ${file})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -diag-suppress=177 -Xcompiler=-fno-exceptions,-fno-threadsafe-statics)
  target_compile_definitions(${name} PRIVATE KAON_PREC_${KAON_PREC_NAME_${prec}} _GLIBCXX_BITS_SPECFUN_H=1)
endfunction()

# kaon_add_cuda_kernels(target [JOINED name] PRECISIONS <d|s|h|all>... FILES file.cu...): compiles each file once for every precision,
# if the target is built. JOINED compiles them as one file, in the given order, because included headers take longer than short
# kernels. Their static names must then differ.
function(kaon_add_cuda_kernels target)
  cmake_parse_arguments(ARG "" "JOINED" "PRECISIONS;FILES" ${ARGN})
  kaon_source_scope(scope ${target})
  set(by_hand OFF)
  if(scope STREQUAL PRIVATE)
    get_target_property(by_hand ${target} EXCLUDE_FROM_ALL)
  endif()
  if(ARG_JOINED)
    list(TRANSFORM ARG_FILES REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
    set(ARG_FILES ${PROJECT_BINARY_DIR}/joined/${ARG_JOINED}.cu)
    string(CONCAT includes ${includes})
    file(CONFIGURE OUTPUT ${ARG_FILES} CONTENT "${includes}" @ONLY)
  endif()
  foreach(file ${ARG_FILES})
    string(REGEX REPLACE "[/.]" "_" stem ${file})
    if(ARG_JOINED)
      set(stem ${ARG_JOINED})
    endif()
    foreach(prec ${ARG_PRECISIONS})
      kaon_cuda_object(${target}_${stem}_${prec} ${file} ${prec})
      set_target_properties(${target}_${stem}_${prec} PROPERTIES EXCLUDE_FROM_ALL "${by_hand}")
      target_sources(${target} ${scope} $<TARGET_OBJECTS:${target}_${stem}_${prec}>)
    endforeach()
  endforeach()
endfunction()

# kaon_device_codes(result): options of nvcc for machine code of every device in KAON_CUDA_ARCHS.
function(kaon_device_codes result)
  set(codes "")
  foreach(arch ${KAON_CUDA_ARCHS})
    list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  set(${result} ${codes} PARENT_SCOPE)
endfunction()

# kaon_add_cuda_image(target DEFINITION file.c PRECISIONS ... FILES file.cu...): for kernels that launch kernels. They are compiled as
# relocatable code and device-linked with the device runtime into one image. In file.c, DEFINITION is the path of the image; the file
# includes and loads it. The host links nothing of it.
function(kaon_add_cuda_image target definition user)
  cmake_parse_arguments(ARG "" "" "PRECISIONS;FILES" ${ARGN})
  set(objects "")
  foreach(file ${ARG_FILES})
    string(REGEX REPLACE "[/.]" "_" stem ${file})
    foreach(prec ${ARG_PRECISIONS})
      set(object ${target}_${stem}_${prec})
      kaon_cuda_object(${object} ${file} ${prec})
      set_target_properties(${object} PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
      list(APPEND objects $<TARGET_OBJECTS:${object}>)
    endforeach()
  endforeach()
  kaon_device_codes(codes)
  string(TOLOWER ${definition} stem)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${stem}.fatbin)
  add_custom_command(OUTPUT ${image} COMMAND ${CMAKE_CUDA_COMPILER} -dlink -fatbin ${codes} ${objects} -lcudadevrt -o ${image}
                     DEPENDS ${objects} COMMENT "Linking ${stem} on the device" VERBATIM COMMAND_EXPAND_LISTS)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${user} PROPERTIES COMPILE_DEFINITIONS "${definition}=\"${image}\""
                                                                       OBJECT_DEPENDS ${image})
endfunction()

# kaon_add_cuda_linked(target file.cu): for a file that needs the device runtime (graphs launched by a device). It is compiled as
# relocatable code and device-linked by itself.
function(kaon_add_cuda_linked target file)
  kaon_add_cuda_kernels(${target} PRECISIONS all FILES ${file})
  string(REGEX REPLACE "[/.]" "_" stem ${file})
  set(object ${target}_${stem}_all)
  set_target_properties(${object} PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
  set(linked ${CMAKE_CURRENT_BINARY_DIR}/${stem}_linked.o)
  kaon_device_codes(codes)
  add_custom_command(OUTPUT ${linked}
                     COMMAND ${CMAKE_CUDA_COMPILER} -dlink ${codes} -Xcompiler=-fPIC $<TARGET_OBJECTS:${object}> -lcudadevrt -o ${linked}
                     DEPENDS ${object} $<TARGET_OBJECTS:${object}> COMMENT "Linking ${file} on the device" VERBATIM)
  set_source_files_properties(${linked} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  kaon_source_scope(scope ${target})
  target_sources(${target} ${scope} ${linked})
  add_custom_target(${object}_linked DEPENDS ${linked})
  add_dependencies(${target} ${object}_linked)
endfunction()

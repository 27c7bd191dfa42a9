/** @file quda_constants.h
 * Sizes of arrays in the parameter structs. Scripts of applications read this file line by line: a line
 * that defines something holds nothing else. */
#pragma once

#define QUDA_VERSION_MAJOR 1
#define QUDA_VERSION_MINOR 1
#define QUDA_VERSION_SUBMINOR 0
#define QUDA_VERSION (QUDA_VERSION_MAJOR << 16 | QUDA_VERSION_MINOR << 8 | QUDA_VERSION_SUBMINOR)
#define QUDA_MAX_DIM 6
#define QUDA_MAX_GEOMETRY 8
#define QUDA_MAX_MULTI_SHIFT 32
#define QUDA_MAX_MULTI_SRC 128
#define QUDA_MAX_DWF_LS 32
#define QUDA_MAX_MG_LEVEL 5

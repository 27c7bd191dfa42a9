/** @file quda_api.h
 * For applications that include it beside quda.h. It has no declarations of its own. */
#pragma once

#include "quda.h"

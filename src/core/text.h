#pragma once

#include <waggle/core/text.h>

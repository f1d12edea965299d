#pragma once

#include <waggle/options/json.h>

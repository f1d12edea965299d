#pragma once

#include <waggle/files/json.h>

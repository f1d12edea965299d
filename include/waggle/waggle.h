#pragma once

#include <waggle/bee_world.h>
#include <waggle/environment.h>
#include <waggle/error.h>
#include <waggle/learner.h>
#include <waggle/least_squares.h>
#include <waggle/market_maker.h>
#include <waggle/policy.h>
#include <waggle/random.h>
#include <waggle/reference/bee_world.h>
#include <waggle/reference/market_maker.h>
#include <waggle/reservoir.h>
#include <waggle/rollout.h>
#include <waggle/temporal_difference.h>
#include <waggle/trajectory.h>
#include <waggle/value.h>
#include <waggle/version.h>

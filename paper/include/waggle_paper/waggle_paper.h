#pragma once

#include <waggle_paper/online.h>
#include <waggle_paper/online_value.h>
#include <waggle_paper/optimal_flight_policy.h>
#include <waggle_paper/presets.h>
#include <waggle_paper/reference/bee_world.h>
#include <waggle_paper/reference/cart_pole.h>
#include <waggle_paper/reference/known_state.h>
#include <waggle_paper/reference/market_maker.h>
#include <waggle_paper/reference/problems.h>
#include <waggle_paper/reference/riccati.h>
#include <waggle_paper/reference/tanks.h>
#include <waggle_paper/reference/tiger.h>
#include <waggle_paper/theory/hidden_markov.h>
#include <waggle_paper/theory/lemma.h>
#include <waggle_paper/theory/mean_flow.h>

#include <waggle/waggle.h>

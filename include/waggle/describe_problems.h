#pragma once

#include <waggle/reference/bee_world.h>
#include <waggle/reference/known_state.h>
#include <waggle/reference/market_maker.h>
#include <waggle/series.h>
#include <waggle/theory/hidden_markov.h>
#include <waggle/theory/mean_flow.h>

/// The options of series, of exact solutions and of the theory, as describe.h has those of
/// learners. An environment describes its own beside them, in its header.
namespace waggle {

template <typename Visitor>
void describe(Visitor& v, MackeyGlassOptions& o) {
  v("steps", o.steps, "samples wanted");
  v("time_step", o.time_step, "time between samples");
  v("feedback", o.feedback, "strength of the delayed feedback");
  v("decay", o.decay, "rate of decay");
  v("exponent", o.exponent, "of the feedback's saturation");
  v("delay", o.delay, "of the feedback, in units of time");
  v("history", o.history, "centre of the constant before the start");
  v("history_spread", o.history_spread, "that constant is drawn from the centre ± this");
  v("discard", o.discard, "samples left out at the beginning");
  v("substeps", o.substeps, "steps of the integrator between samples");
  v("seed", o.seed, "draws the start");
}

template <typename Visitor>
void describe(Visitor& v, Narma10Options& o) {
  v("steps", o.steps, "samples wanted");
  v("highest", o.highest, "inputs are drawn from 0 to this, at most 0.5");
  v("seed", o.seed, "draws the input");
}

template <typename Visitor>
void describe(Visitor& v, LorenzOptions& o) {
  v("steps", o.steps, "samples wanted");
  v("time_step", o.time_step, "time between samples");
  v("sigma", o.sigma, "the Prandtl number σ");
  v("rho", o.rho, "the Rayleigh number ρ");
  v("beta", o.beta, "the geometric factor β");
  v("discard", o.discard, "samples left out at the beginning");
  v("tolerance", o.tolerance, "of a step of the integrator, absolute and relative");
  v("seed", o.seed, "draws the start");
}

namespace reference {

template <typename Visitor>
void describe(Visitor& v, NoisyLinearPolicy& o) {
  v("gain", o.gain, "the action is minus this times the inventory");
  v("noise", o.noise, "standard deviation of what is added to it");
}

template <typename Visitor>
void describe(Visitor& v, OptimalFlightOptions& o) {
  v("world", o.world, "the Bee World flown in");
  v("discount", o.discount, "what a reward counts one step later; 1 is the best average");
  v("steps", o.steps, "of the flight");
  v("grid", o.grid, "cells round the circle");
  v("start_time", o.start_time, "time of the first step");
}

template <typename Visitor>
void describe(Visitor& v, SwingUpOptions& o) {
  v("pendulum", o.pendulum, "the pendulum swung up");
  v("angles", o.angles, "points of the grid round the circle");
  v("velocities", o.velocities, "points of the grid from the fastest turn back to the fastest on");
}

template <typename Visitor>
void describe(Visitor& v, ClimbOptions& o) {
  v("car", o.car, "the car that climbs");
  v("discount", o.discount, "what a reward counts one step later; 1 is in no hurry");
  v("positions", o.positions, "points of the grid from the wall to the end");
  v("velocities", o.velocities, "points of the grid from the fastest back to the fastest on");
}

template <typename Visitor>
void describe(Visitor& v, AcrobotPlanOptions& o) {
  v("acrobot", o.acrobot, "the acrobot planned for");
  v("angles", o.angles, "points of the grid round each circle");
  v("velocities", o.velocities, "points of the grid of each velocity");
  v("beam", o.beam, "states kept at each step of a plan");
  v("episodes", o.episodes, "plans made, each for a start of its own");
}

template <typename Visitor>
void describe(Visitor& v, EulerLagrangeOptions& o) {
  v("world", o.world, "the Bee World flown in");
  v("discount", o.discount, "what a reward counts one step later");
  v("barrier", o.barrier, "weight of the barrier that keeps the velocity in its limit");
  v("sign", o.sign, "the flow as the paper prints it, or with its right-hand side reversed");
  v("steps", o.steps, "duration of the flight");
  v("samples_per_step", o.samples_per_step, "how often the flight is recorded");
  v("tolerance", o.tolerance, "of a step of the integrator, absolute and relative");
  v("integrator", o.integrator, "explicit, or one that copes with stiffness");
}

}  // namespace reference

namespace theory {

template <typename Visitor>
void describe(Visitor& v, HiddenMarkovOptions& o) {
  v("flip", o.flip, "chance that the hidden sign turns over in a step");
  v("contrast", o.contrast, "how much one observation tells of it, in [0, 1]");
}

template <typename Visitor>
void describe(Visitor& v, MeanFlowOptions& o) {
  v("end_time", o.end_time, "how long the flow is followed");
  v("points", o.points, "times at which it is reported, after the start");
  v("tolerance", o.tolerance, "of the integrator, relative and absolute");
}

}  // namespace theory
}  // namespace waggle

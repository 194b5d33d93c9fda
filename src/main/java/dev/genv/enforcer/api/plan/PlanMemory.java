package dev.genv.enforcer.api.plan;

import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.concurrent.Semaphore;

/**
 * The limits of plan requests, as shares of the heap. The service exits if it runs out of memory, and the cycles need it too. Two plans
 * are computed at the same time. Each takes up to three times the memory of its tree for the objects of the plan, and a growing buffer
 * needs up to three times its content. With the reading of the past, all this is at most three quarters of the heap.
 */
@Singleton
public class PlanMemory {
    private static final int BODIES_SHARE = 16;
    private static final int TREE_SHARE = 24;
    private static final int ANSWER_SHARE = 48;
    private static final int FLEET_SHARE = 16;

    private final long heap;
    private final Semaphore bodies;

    @Inject
    PlanMemory() {
        this(Runtime.getRuntime().maxMemory());
    }

    PlanMemory(long heap) {
        this.heap = heap;
        bodies = new Semaphore((int) (heap / BODIES_SHARE / 1024));
    }

    /** A permit for each kibibyte of the bodies that arrive. */
    Semaphore bodies() {
        return bodies;
    }

    /** Returns the size limit of one body, so that one request cannot use all the memory for bodies. */
    int largestBody() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / BODIES_SHARE / 2);
    }

    /** Returns the limit of a parsed body. */
    long largestTree() {
        return heap / TREE_SHARE;
    }

    /** Returns the limit of the plan of an observed fleet. */
    long largestFleet() {
        return heap / FLEET_SHARE;
    }

    int largestAnswer() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / ANSWER_SHARE);
    }
}

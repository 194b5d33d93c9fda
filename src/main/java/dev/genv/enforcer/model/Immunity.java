package dev.genv.enforcer.model;

/**
 * Why a process is never terminated, decided by facts of the kernel.
 *
 * @param reason a clause for reports, such as {@code it runs /usr/bin/nvidia-persistenced}
 */
public record Immunity(Kind kind, String reason) {

    /** The kinds of immunity. */
    public enum Kind {
        /** The machine needs the process: a GPU or display server, a kernel thread, the service itself. */
        PROTECTED,
        /** The process belongs to an exempt user. */
        EXEMPT
    }
}
